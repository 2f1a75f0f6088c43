/* The plugin `pinned-gateway`: tells the container for good which MAC its gateway has.
 *
 * Whoever is in the same network can answer a container's ARP request for the gateway, and has its
 * packets from then on. A permanent neighbour entry is asked for by nobody. It comes after a plugin
 * whose result has a gateway on a link of the host with a MAC, such as `bridge` with `isGateway` or
 * `ptp`, and has no configuration of its own.
 *
 * Nothing is freed: the memory of an invocation goes with it. */

#include <string.h>

#include "weir.h"

typedef weir_cni_neighbour_neighbour_t neighbour_t;

/* The plugin's own error codes. */
enum { NO_MAC = 110 };

/* The MAC of the first link of the host in a result: the bridge, or the host's end of the pair. */
static bool gateway_mac(const weir_result_t *result, uint8_t mac[WEIR_MAC_BYTES])
{
    for (size_t i = 0; i < result->interfaces.len; i++) {
        const weir_interface_t *interface = &result->interfaces.ptr[i];
        if (interface->sandbox.len == 0 && weir_read_mac(interface->mac, mac))
            return true;
    }
    return false;
}

/* The previous result, and the gateway's MAC in it. */
static const weir_result_t *previous(
    const weir_request_t *request, uint8_t mac[WEIR_MAC_BYTES], weir_failure_t *failure)
{
    const weir_result_t *result = weir_previous(request, failure);
    if (result && !gateway_mac(result, mac)) {
        weir_fail(failure, NO_MAC, "prevResult: no link of the host has a MAC", NULL);
        return NULL;
    }
    return result;
}

/* What could not be done. */
static const char *cannot(const char *act, const weir_address_t *gateway)
{
    return weir_join("cannot ", act, " gateway ", weir_address_text(gateway), NULL);
}

bool exports_weir_cni_commands_add(weir_request_t *request, weir_result_t *ret, weir_failure_t *failure)
{
    uint8_t mac[WEIR_MAC_BYTES];
    const weir_result_t *result = previous(request, mac, failure);
    if (!result)
        return false;

    weir_link_reference_t link = weir_link(request->ifname);
    for (size_t i = 0; i < result->ips.len; i++) {
        const weir_result_ip_t *ip = &result->ips.ptr[i];
        neighbour_t entry = {
            .address = ip->gateway.val,
            .mac = { .is_some = true, .val = { .ptr = mac, .len = WEIR_MAC_BYTES } },
            .state = WEIR_CNI_NEIGHBOUR_STATE_PERMANENT,
        };
        weir_error_t error;
        if (ip->gateway.is_some
            && !weir_cni_neighbour_add(WEIR_CONTAINER, &link, &entry, &error))
            return weir_fail_with(failure, cannot("pin", &ip->gateway.val), &error);
    }
    *ret = *result;
    return true;
}

bool exports_weir_cni_commands_del(weir_request_t *request, weir_failure_t *failure)
{
    weir_link_reference_t link = weir_link(request->ifname);
    const weir_result_t *result = &request->previous.val;
    size_t count = request->previous.is_some && request->has_container ? result->ips.len : 0;
    for (size_t i = 0; i < count; i++) {
        weir_result_ip_t *ip = &result->ips.ptr[i];
        weir_error_t error;
        if (ip->gateway.is_some
            && !weir_cni_neighbour_delete(WEIR_CONTAINER, &link, &ip->gateway.val, &error)
            && !weir_is_gone(&error))
            return weir_fail_with(failure, cannot("release", &ip->gateway.val), &error);
    }
    return true;
}

static bool is_pinned(const weir_cni_neighbour_list_neighbour_t *entries, const weir_address_t *gateway,
    const uint8_t mac[WEIR_MAC_BYTES])
{
    for (size_t i = 0; i < entries->len; i++) {
        const neighbour_t *entry = &entries->ptr[i];
        if (weir_is_same_address(&entry->address, gateway)
            && entry->state == WEIR_CNI_NEIGHBOUR_STATE_PERMANENT && entry->mac.is_some
            && entry->mac.val.len == WEIR_MAC_BYTES && memcmp(entry->mac.val.ptr, mac, WEIR_MAC_BYTES) == 0)
            return true;
    }
    return false;
}

bool exports_weir_cni_commands_check(weir_request_t *request, weir_failure_t *failure)
{
    uint8_t mac[WEIR_MAC_BYTES];
    const weir_result_t *result = previous(request, mac, failure);
    if (!result)
        return false;

    weir_link_reference_t link = weir_link(request->ifname);
    weir_cni_neighbour_list_neighbour_t entries;
    weir_error_t error;
    if (!weir_cni_neighbour_list(WEIR_CONTAINER, &link, NULL, &entries, &error))
        return weir_fail_with(failure, "cannot list the neighbours", &error);
    for (size_t i = 0; i < result->ips.len; i++) {
        const weir_result_ip_t *ip = &result->ips.ptr[i];
        if (ip->gateway.is_some && !is_pinned(&entries, &ip->gateway.val, mac))
            return weir_fail(failure, WEIR_NOT_AS_ATTACHED, "gateway ",
                weir_address_text(&ip->gateway.val), " is not pinned to ", weir_mac_text(mac), NULL);
    }
    return true;
}

/* GC has nothing to do: what ADD makes goes with the container's interface. */

WEIR_PLUGIN("pinned-gateway", "0.1.0", "tells the container for good which MAC its gateway has")

/* The plugin `pinned-gateway`: tells the container for good which MAC its gateway has.
 *
 * Whoever is in the same network can answer a container's ARP request for the gateway, and has its
 * packets from then on. A permanent neighbour entry is asked for by nobody. It comes after a plugin
 * whose result has a gateway on a link of the host with a MAC, such as `bridge` with `isGateway` or
 * `ptp`, and has no configuration of its own.
 *
 * Nothing is freed: the memory of an invocation goes with it. */

#include <stdlib.h>
#include <string.h>

#include "plugin.h"

typedef weir_cni_cni_attachment_result_t result_t;
typedef weir_cni_cni_result_interface_t interface_t;
typedef weir_cni_cni_result_ip_t result_ip_t;
typedef weir_cni_types_ip_address_t address_t;
typedef weir_cni_neighbour_neighbour_t neighbour_t;
typedef weir_cni_neighbour_error_t error_t;

enum { MAC_BYTES = 6 };

/* Error codes of the CNI specification and of this plugin. */
enum { INVALID_CONFIG = 7, NO_MAC = 110, NOT_PINNED = 111, FAILED = 112 };

static bool fail(weir_cni_cni_failure_t *failure, uint32_t code, const char *msg)
{
    failure->code = code;
    plugin_string_dup(&failure->msg, msg);
    plugin_string_dup(&failure->details, "");
    return false;
}

static bool fail_with(weir_cni_cni_failure_t *failure, const char *msg, const error_t *error)
{
    fail(failure, FAILED, msg);
    failure->details = error->message;
    return false;
}

static int hex(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Reads `aa:bb:cc:dd:ee:ff`. */
static bool read_mac(const plugin_string_t *text, uint8_t mac[MAC_BYTES])
{
    if (text->len != 3 * MAC_BYTES - 1)
        return false;
    for (size_t i = 0; i < MAC_BYTES; i++) {
        int high = hex(text->ptr[3 * i]), low = hex(text->ptr[3 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        mac[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* The MAC of the first link of the host in a result: the bridge, or the host's end of the pair. */
static bool gateway_mac(const result_t *result, uint8_t mac[MAC_BYTES])
{
    for (size_t i = 0; i < result->interfaces.len; i++) {
        const interface_t *interface = &result->interfaces.ptr[i];
        if (interface->sandbox.len == 0 && read_mac(&interface->mac, mac))
            return true;
    }
    return false;
}

static weir_cni_types_link_reference_t by_name(plugin_string_t name)
{
    weir_cni_types_link_reference_t link = { .tag = WEIR_CNI_TYPES_LINK_REFERENCE_NAME };
    link.val.name = name;
    return link;
}

static bool same_address(const address_t *a, const address_t *b)
{
    if (a->tag != b->tag)
        return false;
    return a->tag == WEIR_CNI_TYPES_IP_ADDRESS_IPV4
        ? memcmp(&a->val.ipv4, &b->val.ipv4, sizeof a->val.ipv4) == 0
        : memcmp(&a->val.ipv6, &b->val.ipv6, sizeof a->val.ipv6) == 0;
}

/* The previous result, which a plugin that comes after another one has, and the gateway's MAC in it. */
static const result_t *previous(
    const weir_cni_cni_request_t *request, uint8_t mac[MAC_BYTES], weir_cni_cni_failure_t *failure)
{
    const result_t *result = &request->previous.val;
    if (!request->previous.is_some)
        fail(failure, INVALID_CONFIG,
            "prevResult: missing: this plugin comes after the one that attaches the container");
    else if (!gateway_mac(result, mac))
        fail(failure, NO_MAC, "prevResult: no link of the host has a MAC");
    else
        return result;
    return NULL;
}

bool exports_weir_cni_commands_add(weir_cni_cni_request_t *request, result_t *ret, weir_cni_cni_failure_t *failure)
{
    uint8_t mac[MAC_BYTES];
    const result_t *result = previous(request, mac, failure);
    if (!result)
        return false;

    weir_cni_types_link_reference_t link = by_name(request->ifname);
    for (size_t i = 0; i < result->ips.len; i++) {
        const result_ip_t *ip = &result->ips.ptr[i];
        neighbour_t entry = {
            .address = ip->gateway.val,
            .mac = { .is_some = true, .val = { .ptr = mac, .len = MAC_BYTES } },
            .state = WEIR_CNI_NEIGHBOUR_STATE_PERMANENT,
        };
        error_t error;
        if (ip->gateway.is_some
            && !weir_cni_neighbour_add(
                WEIR_CNI_TYPES_NAMESPACE_CONTAINER, &link, &entry, &error))
            return fail_with(failure, "cannot pin the gateway", &error);
    }
    *ret = *result;
    return true;
}

static bool is_gone(const error_t *error)
{
    return error->code == WEIR_CNI_TYPES_ERROR_CODE_NOT_FOUND
        || error->code == WEIR_CNI_TYPES_ERROR_CODE_NO_NAMESPACE;
}

bool exports_weir_cni_commands_del(weir_cni_cni_request_t *request, weir_cni_cni_failure_t *failure)
{
    weir_cni_types_link_reference_t link = by_name(request->ifname);
    const result_t *result = &request->previous.val;
    size_t count = request->previous.is_some && request->has_container ? result->ips.len : 0;
    for (size_t i = 0; i < count; i++) {
        result_ip_t *ip = &result->ips.ptr[i];
        error_t error;
        if (ip->gateway.is_some
            && !weir_cni_neighbour_delete(
                WEIR_CNI_TYPES_NAMESPACE_CONTAINER, &link, &ip->gateway.val, &error)
            && !is_gone(&error))
            return fail_with(failure, "cannot release the gateway", &error);
    }
    return true;
}

static bool is_pinned(const weir_cni_neighbour_list_neighbour_t *entries, const address_t *gateway,
    const uint8_t mac[MAC_BYTES])
{
    for (size_t i = 0; i < entries->len; i++) {
        const neighbour_t *entry = &entries->ptr[i];
        if (same_address(&entry->address, gateway)
            && entry->state == WEIR_CNI_NEIGHBOUR_STATE_PERMANENT && entry->mac.is_some
            && entry->mac.val.len == MAC_BYTES && memcmp(entry->mac.val.ptr, mac, MAC_BYTES) == 0)
            return true;
    }
    return false;
}

bool exports_weir_cni_commands_check(weir_cni_cni_request_t *request, weir_cni_cni_failure_t *failure)
{
    uint8_t mac[MAC_BYTES];
    const result_t *result = previous(request, mac, failure);
    if (!result)
        return false;

    weir_cni_types_link_reference_t link = by_name(request->ifname);
    weir_cni_neighbour_list_neighbour_t entries;
    error_t error;
    if (!weir_cni_neighbour_list(
            WEIR_CNI_TYPES_NAMESPACE_CONTAINER, &link, NULL, &entries, &error))
        return fail_with(failure, "cannot list the neighbours", &error);
    for (size_t i = 0; i < result->ips.len; i++) {
        const result_ip_t *ip = &result->ips.ptr[i];
        if (ip->gateway.is_some && !is_pinned(&entries, &ip->gateway.val, mac))
            return fail(failure, NOT_PINNED, "the gateway is not pinned to its MAC");
    }
    return true;
}

bool exports_weir_cni_commands_status(weir_cni_cni_status_request_t *request, weir_cni_cni_failure_t *failure)
{
    (void)request, (void)failure;
    return true;
}

/* What ADD makes goes with the container's interface. */
bool exports_weir_cni_commands_gc(weir_cni_cni_gc_request_t *request, weir_cni_cni_failure_t *failure)
{
    (void)request, (void)failure;
    return true;
}

void exports_weir_cni_commands_version(weir_cni_cni_about_t *about)
{
    plugin_string_dup(&about->name, "pinned-gateway");
    plugin_string_dup(&about->version, "0.1.0");
    plugin_string_dup(&about->description, "tells the container for good which MAC its gateway has");
}

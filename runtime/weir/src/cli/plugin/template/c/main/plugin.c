/* The plugin `{{name}}`: connects a container and the host by a veth pair of their own.
 *
 * The IPAM plugin assigns the container's addresses, IPv4 and IPv6, each with a gateway, which becomes the address of the
 * host's end. Whether the host forwards what the container sends there is left as it is.
 *
 * | key | what |
 * |---|---|
 * | `ipam` | `type` names the IPAM plugin; the other keys are that plugin's | */

#include "weir.h"

/* How many names to try for the host's end. */
enum { NAMES = 8 };

typedef weir_cni_link_link_t link_t;
typedef weir_cni_types_namespace_t namespace_t;

/* Creates the pair, both ends up, and reads them. */
static bool create_pair(weir_request_t *request, link_t *host, link_t *container, weir_failure_t *failure)
{
    weir_error_t error;
    weir_link_reference_t name = weir_link(request->ifname);
    weir_cni_link_new_link_t pair = { .namespace_ = WEIR_HOST, .up = true };
    pair.kind.tag = WEIR_CNI_LINK_NEW_KIND_VETH;
    pair.kind.val.veth
        = (weir_cni_link_new_peer_t){ .namespace_ = WEIR_CONTAINER, .name = request->ifname, .up = true };
    bool is_made = false;
    for (unsigned attempt = 0; !is_made; attempt++) {
        pair.name = weir_string(weir_link_name("veth", request, attempt));
        is_made = weir_cni_link_create(&pair, host, &error);
        if (!is_made && (error.code != WEIR_CNI_TYPES_ERROR_CODE_EXISTS || attempt + 1 == NAMES))
            return weir_fail_with(failure, "cannot create the pair", &error);
    }
    return weir_cni_link_get(WEIR_CONTAINER, &name, container, &error)
        || weir_fail_with(failure, "cannot read the interface", &error);
}

static bool set_parameter(namespace_t where, const char *key, const char *value, weir_failure_t *failure)
{
    weir_error_t error;
    weir_string_t name = weir_string(key), text = weir_string(value);
    /* A kernel without IPv6 has no such parameter. */
    return weir_cni_sysctl_write(where, &name, &text, &error) || weir_is_gone(&error)
        || weir_fail_with(failure, weir_join("cannot set ", key, NULL), &error);
}

/* Adds an address, and not the kernel's route to its subnet: only the other end is on the link. */
static bool add_address(namespace_t where, const link_t *link, weir_network_t address, weir_failure_t *failure)
{
    weir_error_t error;
    weir_link_reference_t name = weir_link(link->name);
    weir_cni_address_new_address_t added
        = { .address = address, .no_duplicate_detection = true, .no_prefix_route = true };
    return weir_cni_address_add(where, &name, &added, &error)
        || weir_fail_with(failure, weir_join("cannot add ", weir_network_text(&address), NULL), &error);
}

/* Adds a route, where it does not exist. Any gateway is at the other end. */
static bool add_route(namespace_t where, const link_t *link, weir_network_t to, const weir_address_t *gateway,
    weir_failure_t *failure)
{
    weir_error_t error;
    weir_cni_route_route_t route = { .destination = to, .on_link = gateway };
    route.link.is_some = true;
    route.link.val = weir_link(link->name);
    if (gateway) {
        route.gateway.is_some = true;
        route.gateway.val = *gateway;
    }
    return weir_cni_route_add(where, &route, &error) || error.code == WEIR_CNI_TYPES_ERROR_CODE_EXISTS
        || weir_fail_with(failure, weir_join("cannot add a route to ", weir_network_text(&to), NULL), &error);
}

/* Gives the container an address, and the host's end that of its gateway, each with a route to the other. */
static bool connect(const link_t *host, const link_t *container, const weir_result_ip_t *ip, weir_failure_t *failure)
{
    weir_network_t own = ip->address;
    if (!ip->gateway.is_some)
        return weir_fail(failure, WEIR_NO_GATEWAY, "the IPAM plugin returned address ", weir_network_text(&own),
            " without a gateway", NULL);
    const weir_address_t *gateway = &ip->gateway.val;
    const char *key = weir_link_parameter("ipv6.conf", container->name, "disable_ipv6");
    if (own.address.tag == WEIR_CNI_TYPES_IP_ADDRESS_IPV6 && !set_parameter(WEIR_CONTAINER, key, "0", failure))
        return false;
    return add_address(WEIR_CONTAINER, container, own, failure)
        && add_route(WEIR_CONTAINER, container, weir_single(gateway), NULL, failure)
        && add_route(WEIR_CONTAINER, container, weir_subnet(&own), gateway, failure)
        && add_address(WEIR_HOST, host, weir_single(gateway), failure)
        && add_route(WEIR_HOST, host, weir_single(&own.address), NULL, failure);
}

/* The gateway of a route of the result: its own, or that of the first address of its family. */
static const weir_address_t *gateway_of(const weir_cni_cni_result_route_t *route, const weir_result_t *result)
{
    for (size_t i = 0; i < result->ips.len && !route->gw.is_some; i++)
        if (result->ips.ptr[i].address.address.tag == route->dst.address.tag)
            return &result->ips.ptr[i].gateway.val;
    return route->gw.is_some ? &route->gw.val : NULL;
}

static bool configure(const link_t *host, const link_t *container, const weir_result_t *result, weir_failure_t *failure)
{
    for (size_t i = 0; i < result->ips.len; i++)
        if (!connect(host, container, &result->ips.ptr[i], failure))
            return false;
    for (size_t i = 0; i < result->routes.len; i++) {
        const weir_cni_cni_result_route_t *route = &result->routes.ptr[i];
        if (!add_route(WEIR_CONTAINER, container, route->dst, gateway_of(route, result), failure))
            return false;
    }
    return true;
}

/* A link as an interface of the result; `sandbox` is empty for one of the host. */
static weir_interface_t interface_of(const link_t *link, weir_string_t sandbox)
{
    weir_interface_t interface = { .name = link->name, .sandbox = sandbox };
    interface.mac = weir_string(weir_mac_text(link->mac.ptr));
    interface.mtu.is_some = true;
    interface.mtu.val = link->mtu;
    return interface;
}

/* What it makes before an error is removed by weir, and the addresses are released. */
bool exports_weir_cni_commands_add(weir_request_t *request, weir_result_t *ret, weir_failure_t *failure)
{
    static weir_interface_t interfaces[2];
    link_t host, container;
    if (!weir_cni_ipam_add(ret, failure) || !create_pair(request, &host, &container, failure))
        return false;
    /* The host takes its routes from nobody behind the pair. */
    const char *key = weir_link_parameter("ipv6.conf", host.name, "accept_ra");
    if (!set_parameter(WEIR_HOST, key, "0", failure) || !configure(&host, &container, ret, failure))
        return false;
    interfaces[0] = interface_of(&host, weir_string(""));
    interfaces[1] = interface_of(&container, request->sandbox);
    ret->interfaces.ptr = interfaces;
    ret->interfaces.len = 2;
    for (size_t i = 0; i < ret->ips.len; i++) {
        ret->ips.ptr[i].interface.is_some = true;
        ret->ips.ptr[i].interface.val = 1;
    }
    return true;
}

/* Deletes the pair, and then the addresses' leases. One that the grant does not let it delete is not the plugin's. */
bool exports_weir_cni_commands_del(weir_request_t *request, weir_failure_t *failure)
{
    weir_error_t error;
    weir_link_reference_t name = weir_link(request->ifname);
    if (request->has_container && !weir_cni_link_delete(WEIR_CONTAINER, &name, &error) && !weir_is_gone(&error)
        && error.code != WEIR_CNI_TYPES_ERROR_CODE_DENIED)
        return weir_fail_with(failure, "cannot delete the interface", &error);
    return weir_cni_ipam_del(failure);
}

static bool has_address(const weir_cni_address_list_address_t *addresses, const weir_address_t *address)
{
    for (size_t i = 0; i < addresses->len; i++)
        if (weir_is_same_address(&addresses->ptr[i].address.address, address))
            return true;
    return false;
}

bool exports_weir_cni_commands_check(weir_request_t *request, weir_failure_t *failure)
{
    weir_error_t error;
    weir_cni_address_list_address_t addresses;
    weir_link_reference_t name = weir_link(request->ifname);
    const weir_result_t *added = weir_added(request, failure);
    if (!added || !weir_cni_ipam_check(failure))
        return false;
    if (!weir_cni_address_list(WEIR_CONTAINER, &name, NULL, &addresses, &error))
        return weir_is_gone(&error)
            ? weir_fail(failure, WEIR_NOT_AS_ATTACHED, "the interface does not exist", NULL)
            : weir_fail_with(failure, "cannot list the addresses", &error);
    for (size_t i = 0; i < added->ips.len; i++) {
        const weir_network_t *address = &added->ips.ptr[i].address;
        if (!has_address(&addresses, &address->address))
            return weir_fail(failure, WEIR_NOT_AS_ATTACHED, "the interface does not have ",
                weir_network_text(address), NULL);
    }
    return true;
}

bool exports_weir_cni_commands_status(weir_status_request_t *request, weir_failure_t *failure)
{
    (void)request;
    return weir_cni_ipam_status(failure);
}

bool exports_weir_cni_commands_gc(weir_gc_request_t *request, weir_failure_t *failure)
{
    (void)request;
    return weir_cni_ipam_gc(failure);
}

/* What `weir plugin inspect` and VERSION show: say what your plugin does. */
WEIR_PLUGIN("{{name}}", "0.1.0", "{{description}}")

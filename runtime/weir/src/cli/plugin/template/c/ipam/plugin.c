/* The IPAM plugin `{{name}}`: assigns a container the first free address of a subnet of each family.
 *
 * A main plugin, such as `ptp`, runs it. The leases are in a store of the plugin's own, one for each network: a key for each
 * address, whose value is the attachment that has it.
 *
 * | key of `ipam` | what |
 * |---|---|
 * | `subnet`, `subnet6` | such as `10.1.0.0/24` and `fd01::/64`, one of them or both; of each, the first address is the gateway's | */

#include <stdlib.h>
#include <string.h>

#include "weir.h"

/* The numbers of a subnet's addresses that are assigned; the last address of a subnet, which IPv4 broadcasts to, is not. */
enum { GATEWAY = 1, FIRST = 2, END = 65536 };

/* The plugin's own error codes, those of `host-local`. */
enum { NO_FREE_ADDRESS = 110, NO_LEASE = 113 };

typedef weir_cni_store_borrow_transaction_t store_t;
typedef plugin_list_u8_t bytes_t;

/* The subnets of a configuration. */
struct subnets {
    weir_network_t of[2];
    size_t count;
};

/* Finds an address that may be assigned. */
static bool assignable(const weir_network_t *subnet, uint64_t number, weir_address_t *address)
{
    weir_address_t next;
    return number < END && weir_address_at(subnet, number, address) && weir_address_at(subnet, number + 1, &next);
}

static bool read_subnet(
    weir_string_t text, const char *key, uint8_t family, weir_network_t *subnet, weir_failure_t *failure)
{
    weir_address_t first;
    if (!weir_read_network(text, subnet) || subnet->address.tag != family)
        return weir_fail(failure, WEIR_INVALID_CONFIG, "ipam.", key, ": expected a subnet of IPv",
            family == WEIR_CNI_TYPES_IP_ADDRESS_IPV4 ? "4 such as `10.1.0.0/24`" : "6 such as `fd01::/64`", NULL);
    if (!assignable(subnet, FIRST, &first))
        return weir_fail(failure, WEIR_INVALID_CONFIG, "ipam.", key, ": ", weir_network_text(subnet),
            " has no address besides the gateway's", NULL);
    return true;
}

static bool read_config(weir_string_t config, struct subnets *subnets, weir_failure_t *failure)
{
    static const char *const keys[] = { "subnet", "subnet6" };
    static const uint8_t families[] = { WEIR_CNI_TYPES_IP_ADDRESS_IPV4, WEIR_CNI_TYPES_IP_ADDRESS_IPV6 };
    weir_string_t ipam = { 0 };
    subnets->count = 0;
    if (!weir_config_object(config, "ipam", &ipam, failure))
        return false;
    for (size_t i = 0; i < 2; i++) {
        weir_string_t text = { 0 };
        if (!weir_config_text(ipam, keys[i], &text, failure))
            return false;
        if (!text.len)
            continue;
        if (!read_subnet(text, keys[i], families[i], &subnets->of[subnets->count++], failure))
            return false;
    }
    return subnets->count || weir_fail(failure, WEIR_INVALID_CONFIG, "ipam: expected `subnet`, `subnet6` or both", NULL);
}

/* Opens the store. It is closed when the invocation ends. */
static bool open_store(weir_cni_store_access_t access, store_t *store, weir_failure_t *failure)
{
    weir_error_t error;
    weir_cni_store_location_t location = { .tag = WEIR_CNI_STORE_LOCATION_PRIVATE };
    weir_cni_store_own_transaction_t own;
    if (!weir_cni_store_open(&location, access, &own, &error))
        return weir_fail_with(failure, "cannot open the leases", &error);
    *store = weir_cni_store_borrow_transaction(own);
    return true;
}

static bool commit(store_t store, weir_failure_t *failure)
{
    weir_error_t error;
    return weir_cni_store_method_transaction_commit(store, &error)
        || weir_fail_with(failure, "cannot keep the leases", &error);
}

/* The value of an attachment's leases. */
static bytes_t holder(weir_string_t container_id, weir_string_t ifname)
{
    weir_string_t text = weir_string(weir_join(weir_text(container_id), " ", weir_text(ifname), NULL));
    return (bytes_t){ .ptr = text.ptr, .len = text.len };
}

/* The addresses that an attachment has, as text. */
static bool find_leases(
    store_t store, const weir_request_t *request, plugin_list_string_t *leases, weir_failure_t *failure)
{
    weir_error_t error;
    bytes_t value = holder(request->container_id, request->ifname);
    return weir_cni_store_method_transaction_find(store, &value, leases, &error)
        || weir_fail_with(failure, "cannot find the leases", &error);
}

static bool list_leases(store_t store, plugin_list_string_t *leases, weir_failure_t *failure)
{
    weir_error_t error;
    return weir_cni_store_method_transaction_keys(store, leases, &error)
        || weir_fail_with(failure, "cannot list the leases", &error);
}

static bool release(store_t store, weir_string_t *lease, weir_failure_t *failure)
{
    weir_error_t error;
    return weir_cni_store_method_transaction_delete(store, lease, &error) || weir_is_gone(&error)
        || weir_fail_with(failure, "cannot release an address", &error);
}

/* Takes the first free address of a subnet. */
static bool claim(
    store_t store, const weir_network_t *subnet, bytes_t value, weir_address_t *address, weir_failure_t *failure)
{
    enum { AT_ONCE = 256 };
    weir_string_t candidates[AT_ONCE];
    uint64_t number = FIRST;
    for (;;) {
        plugin_list_string_t keys = { .ptr = candidates };
        plugin_option_string_t claimed;
        weir_error_t error;
        for (; keys.len < AT_ONCE && assignable(subnet, number, address); number++)
            candidates[keys.len++] = weir_string(weir_address_text(address));
        if (!keys.len)
            return weir_fail(
                failure, NO_FREE_ADDRESS, "no address of ", weir_network_text(subnet), " is free", NULL);
        if (!weir_cni_store_method_transaction_claim(store, &keys, &value, &claimed, &error))
            return weir_fail_with(failure, "cannot keep a lease", &error);
        if (claimed.is_some)
            return weir_read_address(claimed.val, address);
    }
}

bool exports_weir_cni_commands_add(weir_request_t *request, weir_result_t *ret, weir_failure_t *failure)
{
    static weir_result_ip_t ips[2];
    struct subnets subnets;
    store_t store;
    if (!read_config(request->config, &subnets, failure) || !open_store(WEIR_CNI_STORE_ACCESS_WRITE, &store, failure))
        return false;
    bytes_t value = holder(request->container_id, request->ifname);
    for (size_t i = 0; i < subnets.count; i++) {
        weir_result_ip_t *ip = &ips[i];
        ip->address.prefix_length = subnets.of[i].prefix_length;
        ip->gateway.is_some = weir_address_at(&subnets.of[i], GATEWAY, &ip->gateway.val);
        if (!claim(store, &subnets.of[i], value, &ip->address.address, failure))
            return false;
    }
    *ret = (weir_result_t){ .ips = { .ptr = ips, .len = subnets.count } };
    return commit(store, failure);
}

bool exports_weir_cni_commands_del(weir_request_t *request, weir_failure_t *failure)
{
    plugin_list_string_t leases;
    store_t store;
    if (!open_store(WEIR_CNI_STORE_ACCESS_WRITE, &store, failure) || !find_leases(store, request, &leases, failure))
        return false;
    for (size_t i = 0; i < leases.len; i++)
        if (!release(store, &leases.ptr[i], failure))
            return false;
    return commit(store, failure);
}

static bool has_address(const weir_result_t *result, weir_string_t text)
{
    for (size_t i = 0; i < result->ips.len; i++)
        if (weir_is(text, weir_address_text(&result->ips.ptr[i].address.address)))
            return true;
    return false;
}

bool exports_weir_cni_commands_check(weir_request_t *request, weir_failure_t *failure)
{
    plugin_list_string_t leases;
    store_t store;
    const weir_result_t *added = weir_added(request, failure);
    if (!added || !open_store(WEIR_CNI_STORE_ACCESS_READ, &store, failure)
        || !find_leases(store, request, &leases, failure))
        return false;
    if (!leases.len)
        return weir_fail(failure, NO_LEASE, "the container has no address", NULL);
    for (size_t i = 0; i < leases.len; i++)
        if (!has_address(added, leases.ptr[i]))
            return weir_fail(failure, WEIR_NOT_AS_ATTACHED, "the container was attached without ",
                weir_text(leases.ptr[i]), ", which is its address now", NULL);
    return true;
}

/* Whether a subnet has an address that none of these leases has. */
static bool has_free(const weir_network_t *subnet, const plugin_list_string_t *leases)
{
    uint64_t all = 0, taken = 0;
    weir_address_t address;
    while (assignable(subnet, FIRST + all, &address))
        all++;
    for (size_t i = 0; i < leases->len; i++)
        taken += weir_read_address(leases->ptr[i], &address) && address.tag == subnet->address.tag;
    return taken < all;
}

bool exports_weir_cni_commands_status(weir_status_request_t *request, weir_failure_t *failure)
{
    plugin_list_string_t leases;
    struct subnets subnets;
    store_t store;
    if (!read_config(request->config, &subnets, failure) || !open_store(WEIR_CNI_STORE_ACCESS_READ, &store, failure)
        || !list_leases(store, &leases, failure))
        return false;
    for (size_t i = 0; i < subnets.count; i++)
        if (!has_free(&subnets.of[i], &leases))
            return weir_fail(failure, WEIR_NOT_AVAILABLE, "no address of ", weir_network_text(&subnets.of[i]),
                " is free", NULL);
    return true;
}

/* The values of the leases to keep. */
static bytes_t *valid_holders(const weir_gc_request_t *request)
{
    size_t count = request->valid_attachments.len;
    bytes_t *holders = malloc((count + 1) * sizeof *holders);
    if (!holders)
        abort();
    for (size_t i = 0; i < count; i++) {
        const weir_cni_cni_attachment_t *attachment = &request->valid_attachments.ptr[i];
        holders[i] = holder(attachment->container_id, attachment->ifname);
    }
    return holders;
}

static bool is_among(const bytes_t *holders, size_t count, bytes_t value)
{
    for (size_t i = 0; i < count; i++)
        if (holders[i].len == value.len && memcmp(holders[i].ptr, value.ptr, value.len) == 0)
            return true;
    return false;
}

bool exports_weir_cni_commands_gc(weir_gc_request_t *request, weir_failure_t *failure)
{
    plugin_list_string_t leases;
    store_t store;
    if (!open_store(WEIR_CNI_STORE_ACCESS_WRITE, &store, failure) || !list_leases(store, &leases, failure))
        return false;
    bytes_t *valid = valid_holders(request);
    for (size_t i = 0; i < leases.len; i++) {
        bytes_t value;
        weir_error_t error;
        if (!weir_cni_store_method_transaction_get(store, &leases.ptr[i], &value, &error))
            return weir_fail_with(failure, "cannot read a lease", &error);
        if (!is_among(valid, request->valid_attachments.len, value) && !release(store, &leases.ptr[i], failure))
            return false;
    }
    return commit(store, failure);
}

/* What `weir plugin inspect` and VERSION show: say what your plugin does. */
WEIR_PLUGIN("{{name}}", "0.1.0", "{{description}}")

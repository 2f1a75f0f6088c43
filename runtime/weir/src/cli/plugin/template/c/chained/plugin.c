/* The plugin `{{name}}`: caps the MTU of the container's interface.
 *
 * It creates nothing, and comes after the plugin that makes the interface.
 *
 * | key | default | what |
 * |---|---|---|
 * | `mtu` | 1400 | bytes; an interface with more gets this, one with less keeps its own | */

#include "weir.h"

/* Every link must carry packets of the least size (RFC 791). */
enum { DEFAULT_MTU = 1400, LEAST_MTU = 68, LARGEST_MTU = 65535 };

typedef weir_cni_link_link_t link_t;

/* Reads the key `mtu`. */
static bool read_mtu(weir_string_t config, uint64_t *mtu, weir_failure_t *failure)
{
    *mtu = DEFAULT_MTU;
    if (!weir_config_number(config, "mtu", mtu, failure))
        return false;
    if (*mtu < LEAST_MTU || *mtu > LARGEST_MTU)
        return weir_fail(
            failure, WEIR_INVALID_CONFIG, "mtu: expected 68 to 65535, found ", weir_number_text(*mtu), NULL);
    return true;
}

/* Reads the container's interface, and the MTU that it may have at most. */
static bool look(weir_request_t *request, link_t *interface, uint64_t *most, weir_failure_t *failure)
{
    weir_link_reference_t name = weir_link(request->ifname);
    weir_error_t error;
    if (!read_mtu(request->config, most, failure))
        return false;
    if (!weir_cni_link_get(WEIR_CONTAINER, &name, interface, &error))
        return weir_fail_with(failure, "cannot read the interface", &error);
    return true;
}

static bool cap(weir_request_t *request, const weir_result_t *result, uint64_t most, weir_failure_t *failure)
{
    weir_link_reference_t name = weir_link(request->ifname);
    weir_cni_link_changes_t changes = { .mtu = { .is_some = true, .val = (uint32_t)most } };
    weir_error_t error;
    if (!weir_cni_link_update(WEIR_CONTAINER, &name, &changes, &error))
        return weir_fail_with(failure, "cannot set the MTU", &error);
    weir_interface_t *interface = weir_container_interface(request, result);
    if (interface) {
        interface->mtu.is_some = true;
        interface->mtu.val = (uint32_t)most;
    }
    return true;
}

bool exports_weir_cni_commands_add(weir_request_t *request, weir_result_t *ret, weir_failure_t *failure)
{
    const weir_result_t *result = weir_previous(request, failure);
    link_t interface;
    uint64_t most;
    if (!result || !look(request, &interface, &most, failure))
        return false;
    if (interface.mtu > most && !cap(request, result, most, failure))
        return false;
    *ret = *result;
    return true;
}

/* The MTU disappears with the interface. */
bool exports_weir_cni_commands_del(weir_request_t *request, weir_failure_t *failure)
{
    (void)request, (void)failure;
    return true;
}

bool exports_weir_cni_commands_check(weir_request_t *request, weir_failure_t *failure)
{
    link_t interface;
    uint64_t most;
    if (!look(request, &interface, &most, failure))
        return false;
    if (interface.mtu > most)
        return weir_fail(failure, WEIR_NOT_AS_ATTACHED, "the interface has an MTU of ",
            weir_number_text(interface.mtu), "; expected at most ", weir_number_text(most), NULL);
    return true;
}

/* What `weir plugin inspect` and VERSION show: say what your plugin does. */
WEIR_PLUGIN("{{name}}", "0.1.0", "{{description}}")

/* What plugins in C have in common, over the contract's bindings in `plugin.h`: short names of types, text, addresses,
 * errors.
 *
 * Nothing is freed: the memory of an invocation goes with it. Where there is none left, the plugin is ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin.h"

typedef plugin_string_t weir_string_t;
typedef weir_cni_cni_request_t weir_request_t;
typedef weir_cni_cni_status_request_t weir_status_request_t;
typedef weir_cni_cni_gc_request_t weir_gc_request_t;
typedef weir_cni_cni_about_t weir_about_t;
typedef weir_cni_cni_attachment_result_t weir_result_t;
typedef weir_cni_cni_result_interface_t weir_interface_t;
typedef weir_cni_cni_result_ip_t weir_result_ip_t;
typedef weir_cni_cni_failure_t weir_failure_t;
typedef weir_cni_types_error_t weir_error_t;
typedef weir_cni_types_link_reference_t weir_link_reference_t;
typedef weir_cni_types_ip_address_t weir_address_t;
typedef weir_cni_types_ip_network_t weir_network_t;

/* Several texts. */
typedef struct {
    weir_string_t *ptr;
    size_t len;
} weir_texts_t;

/* The two namespaces. */
enum {
    WEIR_HOST = WEIR_CNI_TYPES_NAMESPACE_HOST,
    WEIR_CONTAINER = WEIR_CNI_TYPES_NAMESPACE_CONTAINER,
};

/* CNI error codes: those of the specification that plugins use, and those that all plugins of weir share. A plugin's own
 * are 110 to 199. */
enum {
    WEIR_IO_FAILURE = 5,
    WEIR_INVALID_CONFIG = 7,
    WEIR_INVALID_NETNS = 8,
    WEIR_TRY_AGAIN_LATER = 11,
    /* STATUS: an ADD would fail now. */
    WEIR_NOT_AVAILABLE = 50,
    WEIR_DENIED = 100,
    WEIR_NOT_FOUND = 101,
    WEIR_EXISTS = 102,
    WEIR_INVALID = 103,
    WEIR_UNSUPPORTED = 104,
    WEIR_EXHAUSTED = 105,
    /* CHECK: something is not as ADD left it. */
    WEIR_NOT_AS_ATTACHED = 106,
    WEIR_NO_ADDRESS = 107,
    /* The IPAM plugin returned an address without a gateway, and the network needs one. */
    WEIR_NO_GATEWAY = 108,
};

/* The bytes of an Ethernet address. */
enum { WEIR_MAC_BYTES = 6 };

/* Text. A string of the contract has a length and no NUL at its end. */

/* Makes a string of the contract from C's; the bytes are not copied. */
weir_string_t weir_string(const char *text);

/* Makes C's string of the contract's, up to the first NUL. */
const char *weir_text(weir_string_t string);

/* Joins texts, the last of which is NULL. */
const char *weir_join(const char *first, ...);

/* Whether they have the same bytes. */
bool weir_is(weir_string_t string, const char *text);

/* Writes a number in decimal. */
const char *weir_number_text(uint64_t number);

/* Link-layer addresses, as `aa:bb:cc:dd:ee:ff`. */

/* Reads one. False for any other text. */
bool weir_read_mac(weir_string_t text, uint8_t mac[WEIR_MAC_BYTES]);
const char *weir_mac_text(const uint8_t mac[WEIR_MAC_BYTES]);

/* IP addresses. */

/* Reads an address of either family. False for any other text; a part of an IPv4 address has no leading zero. */
bool weir_read_address(weir_string_t text, weir_address_t *address);
/* IPv6 in the form of RFC 5952. */
const char *weir_address_text(const weir_address_t *address);
/* The address with the length of its prefix, as `10.1.0.2/16`. */
const char *weir_network_text(const weir_network_t *network);
bool weir_is_same_address(const weir_address_t *one, const weir_address_t *other);

/* Reads an address with the length of its prefix. False for any other text. */
bool weir_read_network(weir_string_t text, weir_network_t *network);
/* Finds the address of a subnet with this number; 0 is the subnet's own. False where the subnet has no such address. */
bool weir_address_at(const weir_network_t *network, uint64_t number, weir_address_t *address);
/* The subnet of an address: the bits beyond the prefix are 0. */
weir_network_t weir_subnet(const weir_network_t *network);
/* A network of one address. */
weir_network_t weir_single(const weir_address_t *address);

/* Links. */

/* Names a link by its name. */
weir_link_reference_t weir_link(weir_string_t name);

/* A name for a link that an attachment has on the host, as `veth0c3f8a1e`: the prefix, and what follows from the attachment
 * and the attempt. Try another attempt where the name is taken. */
const char *weir_link_name(const char *prefix, const weir_request_t *request, unsigned attempt);

/* Names a kernel parameter of a link: `net.ipv6.conf.eth0.accept_ra` for the group `ipv6.conf`. */
const char *weir_link_parameter(const char *group, weir_string_t link, const char *parameter);

/* Errors. Both return false, as a command that fails does. */

/* Fails with a message, which is joined from texts, the last of which is NULL. */
bool weir_fail(weir_failure_t *failure, uint32_t code, ...);

/* Fails with what was being done and why it failed, and the CNI code that belongs to it. */
bool weir_fail_with(weir_failure_t *failure, const char *doing, const weir_error_t *error);

/* Whether the object of an operation is gone: it does not exist, or its namespace does not. */
bool weir_is_gone(const weir_error_t *error);

/* Commands. A plugin leaves out `status` and `gc` where it has nothing to say and nothing to remove: those of the SDK
 * succeed. */

/* Defines the command `version`. */
#define WEIR_PLUGIN(plugin_name, plugin_version, plugin_description)      \
    void exports_weir_cni_commands_version(weir_about_t *about)           \
    {                                                                     \
        plugin_string_dup(&about->name, plugin_name);                     \
        plugin_string_dup(&about->version, plugin_version);               \
        plugin_string_dup(&about->description, plugin_description);       \
    }

/* The configuration's own keys, those of the object that it is. A key that is absent leaves the value as it is. False with
 * code 7 in `failure` for a value of another type. */

/* Reads a whole number of 0 or more. */
bool weir_config_number(weir_string_t config, const char *key, uint64_t *number, weir_failure_t *failure);

/* Reads `true` or `false`. */
bool weir_config_flag(weir_string_t config, const char *key, bool *flag, weir_failure_t *failure);

/* Reads a list of texts. One with a backslash in it is refused. */
bool weir_config_texts(weir_string_t config, const char *key, weir_texts_t *texts, weir_failure_t *failure);

/* Reads a text. One with a backslash in it is refused. */
bool weir_config_text(weir_string_t config, const char *key, weir_string_t *text, weir_failure_t *failure);

/* Reads an object, such as `ipam`. Its own keys are read by the same functions. */
bool weir_config_object(weir_string_t config, const char *key, weir_string_t *object, weir_failure_t *failure);

/* Requests. */

/* The result of the plugin before this one, for a plugin that cannot be the first in its list. NULL with code 7 in
 * `failure` where there is none. */
const weir_result_t *weir_previous(const weir_request_t *request, weir_failure_t *failure);

/* The result of ADD, for CHECK. NULL with code 7 in `failure` where there is none. */
const weir_result_t *weir_added(const weir_request_t *request, weir_failure_t *failure);

/* The container's interface in a result, by the request's interface name; NULL where the result has none. */
weir_interface_t *weir_container_interface(const weir_request_t *request, const weir_result_t *result);

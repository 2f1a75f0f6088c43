/* Text, addresses and errors for plugins in C. */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    return block;
}

weir_string_t weir_string(const char *text)
{
    return (weir_string_t){ .ptr = (uint8_t *)text, .len = strlen(text) };
}

const char *weir_text(weir_string_t string)
{
    char *text = allocate(string.len + 1);
    memcpy(text, string.ptr, string.len);
    text[string.len] = 0;
    return text;
}

bool weir_is(weir_string_t string, const char *text)
{
    return string.len == strlen(text) && memcmp(string.ptr, text, string.len) == 0;
}

static const char *join(const char *first, va_list rest)
{
    size_t length = 0;
    va_list again;
    va_copy(again, rest);
    for (const char *text = first; text; text = va_arg(again, const char *))
        length += strlen(text);
    va_end(again);

    char *whole = allocate(length + 1), *end = whole;
    for (const char *text = first; text; text = va_arg(rest, const char *)) {
        size_t size = strlen(text);
        memcpy(end, text, size);
        end += size;
    }
    *end = 0;
    return whole;
}

const char *weir_join(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    const char *whole = join(first, rest);
    va_end(rest);
    return whole;
}

/* Writes digits before `end` and returns where they begin. */
static char *digits(char *end, uint64_t number, unsigned base)
{
    do
        *--end = "0123456789abcdef"[number % base];
    while (number /= base);
    return end;
}

static const char *number_text(uint64_t number, unsigned base)
{
    enum { MOST = 20 };
    char *text = allocate(MOST + 1);
    text[MOST] = 0;
    return digits(text + MOST, number, base);
}

const char *weir_number_text(uint64_t number)
{
    return number_text(number, 10);
}

/* The value of a hexadecimal digit; -1 for any other byte. */
static int hex(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool weir_read_mac(weir_string_t text, uint8_t mac[WEIR_MAC_BYTES])
{
    if (text.len != 3 * WEIR_MAC_BYTES - 1)
        return false;
    for (size_t i = 0; i < WEIR_MAC_BYTES; i++) {
        const uint8_t *at = text.ptr + 3 * i;
        int high = hex(at[0]), low = hex(at[1]);
        if (high < 0 || low < 0 || (i + 1 < WEIR_MAC_BYTES && at[2] != ':'))
            return false;
        mac[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

const char *weir_mac_text(const uint8_t mac[WEIR_MAC_BYTES])
{
    char *text = allocate(3 * WEIR_MAC_BYTES);
    for (size_t i = 0; i < WEIR_MAC_BYTES; i++) {
        text[3 * i] = "0123456789abcdef"[mac[i] >> 4];
        text[3 * i + 1] = "0123456789abcdef"[mac[i] & 15];
        text[3 * i + 2] = i + 1 < WEIR_MAC_BYTES ? ':' : 0;
    }
    return text;
}

/* The octets of an IPv4 address and the groups of an IPv6 address, which the bindings have as fields. */
static void get_octets(const weir_cni_types_ipv4_address_t *from, uint8_t octets[4])
{
    octets[0] = from->f0, octets[1] = from->f1, octets[2] = from->f2, octets[3] = from->f3;
}

static void get_groups(const weir_cni_types_ipv6_address_t *from, uint16_t groups[8])
{
    groups[0] = from->f0, groups[1] = from->f1, groups[2] = from->f2, groups[3] = from->f3;
    groups[4] = from->f4, groups[5] = from->f5, groups[6] = from->f6, groups[7] = from->f7;
}

/* What is left of a text that is read. */
struct rest {
    const uint8_t *at, *end;
};

static bool take(struct rest *rest, char byte)
{
    if (rest->at == rest->end || *rest->at != (uint8_t)byte)
        return false;
    rest->at++;
    return true;
}

static bool read_octet(struct rest *rest, uint8_t *octet)
{
    const uint8_t *first = rest->at;
    unsigned value = 0;
    while (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9' && value <= UINT8_MAX)
        value = value * 10 + (*rest->at++ - '0');
    *octet = (uint8_t)value;
    size_t length = (size_t)(rest->at - first);
    return length > 0 && value <= UINT8_MAX && (length == 1 || *first != '0');
}

static bool read_octets(struct rest *rest, uint8_t octets[4])
{
    for (size_t i = 0; i < 4; i++)
        if ((i && !take(rest, '.')) || !read_octet(rest, &octets[i]))
            return false;
    return rest->at == rest->end;
}

/* Reads one to four hexadecimal digits. */
static bool read_group(struct rest *rest, uint16_t *group)
{
    const uint8_t *first = rest->at;
    unsigned value = 0;
    while (rest->at < rest->end && rest->at - first < 4 && hex(*rest->at) >= 0)
        value = value << 4 | (unsigned)hex(*rest->at++);
    *group = (uint16_t)value;
    return rest->at > first;
}

/* Reads groups, and an IPv4 address in place of the last two. One run of zeros may be `::`. */
static bool read_groups(struct rest *rest, uint16_t groups[8])
{
    uint16_t read[8];
    size_t count = 0, gap = SIZE_MAX;
    if (take(rest, ':')) {
        if (!take(rest, ':'))
            return false;
        gap = 0;
    }
    while (rest->at < rest->end) {
        struct rest quad = *rest;
        uint8_t octets[4];
        if (count <= 6 && read_octets(&quad, octets)) {
            read[count++] = (uint16_t)(octets[0] << 8 | octets[1]);
            read[count++] = (uint16_t)(octets[2] << 8 | octets[3]);
            break;
        }
        if (count == 8 || !read_group(rest, &read[count++]))
            return false;
        if (rest->at == rest->end)
            break;
        if (!take(rest, ':') || rest->at == rest->end)
            return false;
        if (take(rest, ':')) {
            if (gap != SIZE_MAX)
                return false;
            gap = count;
        }
    }
    if (gap == SIZE_MAX ? count != 8 : count > 7)
        return false;
    size_t before = gap == SIZE_MAX ? count : gap;
    memset(groups, 0, 8 * sizeof groups[0]);
    memcpy(groups, read, before * sizeof groups[0]);
    memcpy(groups + 8 - (count - before), read + before, (count - before) * sizeof groups[0]);
    return true;
}

static weir_address_t ipv4(const uint8_t o[4])
{
    weir_address_t address = { .tag = WEIR_CNI_TYPES_IP_ADDRESS_IPV4 };
    address.val.ipv4 = (weir_cni_types_ipv4_address_t){ o[0], o[1], o[2], o[3] };
    return address;
}

static weir_address_t ipv6(const uint16_t g[8])
{
    weir_address_t address = { .tag = WEIR_CNI_TYPES_IP_ADDRESS_IPV6 };
    address.val.ipv6 = (weir_cni_types_ipv6_address_t){ g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7] };
    return address;
}

bool weir_read_address(weir_string_t text, weir_address_t *address)
{
    uint8_t octets[4];
    uint16_t groups[8];
    struct rest rest = { text.ptr, text.ptr + text.len };
    if (read_octets(&rest, octets)) {
        *address = ipv4(octets);
        return true;
    }
    rest.at = text.ptr;
    if (!read_groups(&rest, groups))
        return false;
    *address = ipv6(groups);
    return true;
}

/* The bits of an address. */
static unsigned bits(const weir_address_t *address)
{
    return address->tag == WEIR_CNI_TYPES_IP_ADDRESS_IPV4 ? 32 : 128;
}

bool weir_read_network(weir_string_t text, weir_network_t *network)
{
    weir_string_t address = { .ptr = text.ptr };
    while (address.len < text.len && text.ptr[address.len] != '/')
        address.len++;
    struct rest rest = { text.ptr + address.len, text.ptr + text.len };
    return weir_read_address(address, &network->address) && take(&rest, '/')
        && read_octet(&rest, &network->prefix_length) && rest.at == rest.end
        && network->prefix_length <= bits(&network->address);
}

/* The bytes of an address, the most significant first. */
static void get_bytes(const weir_address_t *address, uint8_t bytes[16])
{
    uint16_t groups[8];
    if (address->tag == WEIR_CNI_TYPES_IP_ADDRESS_IPV4) {
        get_octets(&address->val.ipv4, bytes);
        return;
    }
    get_groups(&address->val.ipv6, groups);
    for (size_t i = 0; i < 16; i++)
        bytes[i] = (uint8_t)(groups[i / 2] >> (i % 2 ? 0 : 8));
}

static weir_address_t of_bytes(const uint8_t bytes[16], unsigned bits)
{
    uint16_t groups[8];
    if (bits == 32)
        return ipv4(bytes);
    for (size_t i = 0; i < 8; i++)
        groups[i] = (uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    return ipv6(groups);
}

bool weir_address_at(const weir_network_t *network, uint64_t number, weir_address_t *address)
{
    uint8_t bytes[16];
    unsigned all = bits(&network->address), left = all - network->prefix_length;
    if (left < 64 && number >> left)
        return false;
    get_bytes(&network->address, bytes);
    for (unsigned i = all / 8; i-- && left; left -= left < 8 ? left : 8) {
        uint8_t prefix = left < 8 ? (uint8_t)(0xff << left) : 0;
        bytes[i] = (uint8_t)((bytes[i] & prefix) | (number & 0xff));
        number >>= 8;
    }
    *address = of_bytes(bytes, all);
    return true;
}

weir_network_t weir_subnet(const weir_network_t *network)
{
    weir_network_t subnet = *network;
    weir_address_at(network, 0, &subnet.address);
    return subnet;
}

weir_network_t weir_single(const weir_address_t *address)
{
    return (weir_network_t){ .address = *address, .prefix_length = (uint8_t)bits(address) };
}

static const char *ipv4_text(const weir_cni_types_ipv4_address_t *address)
{
    uint8_t o[4];
    get_octets(address, o);
    return weir_join(weir_number_text(o[0]), ".", weir_number_text(o[1]), ".", weir_number_text(o[2]),
        ".", weir_number_text(o[3]), NULL);
}

/* The first of the longest runs of at least two zeros. Its length is 0 where there is none. */
static size_t longest_zeros(const uint16_t groups[8], size_t *length)
{
    size_t best = 0;
    *length = 0;
    for (size_t first = 0; first < 8; first++) {
        size_t end = first;
        while (end < 8 && groups[end] == 0)
            end++;
        if (end - first > 1 && end - first > *length)
            best = first, *length = end - first;
    }
    return best;
}

static const char *ipv6_text(const weir_cni_types_ipv6_address_t *address)
{
    uint16_t groups[8];
    size_t length;
    get_groups(address, groups);
    size_t first = longest_zeros(groups, &length);
    const char *text = "";
    for (size_t i = 0; i < 8; i++) {
        if (length && i == first) {
            text = weir_join(text, "::", NULL);
            i += length - 1;
            continue;
        }
        const char *between = i == 0 || (length && i == first + length) ? "" : ":";
        text = weir_join(text, between, number_text(groups[i], 16), NULL);
    }
    return text;
}

const char *weir_address_text(const weir_address_t *address)
{
    return address->tag == WEIR_CNI_TYPES_IP_ADDRESS_IPV4 ? ipv4_text(&address->val.ipv4)
                                                         : ipv6_text(&address->val.ipv6);
}

const char *weir_network_text(const weir_network_t *network)
{
    return weir_join(
        weir_address_text(&network->address), "/", weir_number_text(network->prefix_length), NULL);
}

bool weir_is_same_address(const weir_address_t *one, const weir_address_t *other)
{
    if (one->tag != other->tag)
        return false;
    return one->tag == WEIR_CNI_TYPES_IP_ADDRESS_IPV4
        ? memcmp(&one->val.ipv4, &other->val.ipv4, sizeof one->val.ipv4) == 0
        : memcmp(&one->val.ipv6, &other->val.ipv6, sizeof one->val.ipv6) == 0;
}

weir_link_reference_t weir_link(weir_string_t name)
{
    weir_link_reference_t link = { .tag = WEIR_CNI_TYPES_LINK_REFERENCE_NAME };
    link.val.name = name;
    return link;
}

/* FNV-1a. */
static uint32_t hash(uint32_t so_far, weir_string_t text)
{
    for (size_t i = 0; i < text.len; i++)
        so_far = (so_far ^ text.ptr[i]) * 16777619;
    /* A byte that no text has: `a` and `bc` are not `ab` and `c`. */
    return (so_far ^ 0xff) * 16777619;
}

const char *weir_link_name(const char *prefix, const weir_request_t *request, unsigned attempt)
{
    uint32_t number = hash(hash(2166136261, request->container_id), request->ifname);
    number = hash(number, weir_string(number_text(attempt, 10)));
    const char *digits = number_text(number, 16);
    return weir_join(prefix, &"00000000"[strlen(digits)], digits, NULL);
}

const char *weir_link_parameter(const char *group, weir_string_t link, const char *parameter)
{
    /* The name's own dots are slashes in the name of a parameter. */
    char *name = (char *)weir_text(link);
    for (char *at = name; *at; at++)
        if (*at == '.')
            *at = '/';
    return weir_join("net.", group, ".", name, ".", parameter, NULL);
}

static bool fail(weir_failure_t *failure, uint32_t code, const char *msg)
{
    failure->code = code;
    plugin_string_dup(&failure->msg, msg);
    plugin_string_dup(&failure->details, "");
    return false;
}

bool weir_fail(weir_failure_t *failure, uint32_t code, ...)
{
    va_list texts;
    va_start(texts, code);
    const char *msg = join("", texts);
    va_end(texts);
    return fail(failure, code, msg);
}

static uint32_t code_of(weir_cni_types_error_code_t code)
{
    switch (code) {
    case WEIR_CNI_TYPES_ERROR_CODE_DENIED:
        return WEIR_DENIED;
    case WEIR_CNI_TYPES_ERROR_CODE_NOT_FOUND:
        return WEIR_NOT_FOUND;
    case WEIR_CNI_TYPES_ERROR_CODE_EXISTS:
        return WEIR_EXISTS;
    case WEIR_CNI_TYPES_ERROR_CODE_INVALID:
        return WEIR_INVALID;
    case WEIR_CNI_TYPES_ERROR_CODE_BUSY:
    case WEIR_CNI_TYPES_ERROR_CODE_TIMED_OUT:
        return WEIR_TRY_AGAIN_LATER;
    case WEIR_CNI_TYPES_ERROR_CODE_UNSUPPORTED:
        return WEIR_UNSUPPORTED;
    case WEIR_CNI_TYPES_ERROR_CODE_EXHAUSTED:
        return WEIR_EXHAUSTED;
    case WEIR_CNI_TYPES_ERROR_CODE_NO_NAMESPACE:
        return WEIR_INVALID_NETNS;
    default:
        return WEIR_IO_FAILURE;
    }
}

bool weir_fail_with(weir_failure_t *failure, const char *doing, const weir_error_t *error)
{
    const char *why = weir_text(error->message);
    return fail(failure, code_of(error->code), weir_join(doing, ": ", why, NULL));
}

bool weir_is_gone(const weir_error_t *error)
{
    return error->code == WEIR_CNI_TYPES_ERROR_CODE_NOT_FOUND
        || error->code == WEIR_CNI_TYPES_ERROR_CODE_NO_NAMESPACE;
}

static const weir_result_t *previous(const weir_request_t *request, const char *why, weir_failure_t *failure)
{
    if (request->previous.is_some)
        return &request->previous.val;
    weir_fail(failure, WEIR_INVALID_CONFIG, "prevResult: missing: ", why, NULL);
    return NULL;
}

const weir_result_t *weir_previous(const weir_request_t *request, weir_failure_t *failure)
{
    return previous(request,
        "this plugin changes what another one made, so it must come after that one in the list of plugins", failure);
}

const weir_result_t *weir_added(const weir_request_t *request, weir_failure_t *failure)
{
    return previous(request, "CHECK compares with the result of ADD", failure);
}

weir_interface_t *weir_container_interface(const weir_request_t *request, const weir_result_t *result)
{
    const char *ifname = weir_text(request->ifname), *sandbox = weir_text(request->sandbox);
    for (size_t i = 0; i < result->interfaces.len; i++) {
        weir_interface_t *interface = &result->interfaces.ptr[i];
        if (weir_is(interface->name, ifname) && interface->sandbox.len
            && weir_is(interface->sandbox, sandbox))
            return interface;
    }
    return NULL;
}

/* Takes what is left of a text in quotes, of which the first is behind it, and returns what it was. */
static weir_string_t take_quoted(struct rest *rest)
{
    weir_string_t text = { .ptr = (uint8_t *)rest->at };
    while (rest->at < rest->end && *rest->at != '"')
        rest->at += *rest->at == '\\' && rest->at + 1 < rest->end ? 2 : 1;
    text.len = (size_t)(rest->at - text.ptr);
    take(rest, '"');
    return text;
}

static void skip_space(struct rest *rest)
{
    while (take(rest, ' ') || take(rest, '\t') || take(rest, '\n') || take(rest, '\r'))
        ;
}

/* Finds the value of a key of the configuration. weir has checked that it is JSON, and an object. */
static bool find_key(weir_string_t config, const char *key, struct rest *rest)
{
    bool is_key = false, is_found = false;
    unsigned depth = 0;
    *rest = (struct rest){ config.ptr, config.ptr + config.len };
    while (rest->at < rest->end) {
        uint8_t byte = *rest->at++;
        if (byte == '"') {
            weir_string_t text = take_quoted(rest);
            is_found = is_key && weir_is(text, key);
            is_key = false;
        } else if (byte == '{' || byte == '[') {
            is_key = ++depth == 1;
        } else if (byte == '}' || byte == ']') {
            depth--;
        } else if (byte == ',') {
            is_key = depth == 1;
        } else if (byte == ':' && is_found) {
            skip_space(rest);
            return true;
        }
    }
    return false;
}

bool weir_config_number(weir_string_t config, const char *key, uint64_t *number, weir_failure_t *failure)
{
    struct rest rest;
    if (!find_key(config, key, &rest))
        return true;
    const uint8_t *first = rest.at;
    uint64_t value = 0;
    bool fits = true;
    for (; rest.at < rest.end && *rest.at >= '0' && *rest.at <= '9'; rest.at++) {
        unsigned digit = *rest.at - '0';
        fits = fits && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    bool is_whole = rest.at == rest.end || (*rest.at != '.' && (*rest.at | 0x20) != 'e');
    if (rest.at == first || !fits || !is_whole)
        return weir_fail(failure, WEIR_INVALID_CONFIG, key, ": expected a whole number of 0 or more", NULL);
    *number = value;
    return true;
}

/* The rest of a configuration from a value on. */
static weir_string_t text_of_rest(const struct rest *rest)
{
    return (weir_string_t){ .ptr = (uint8_t *)rest->at, .len = (size_t)(rest->end - rest->at) };
}

/* Whether a configuration goes on with a word, and not with a longer one. */
static bool is_word(const struct rest *rest, const char *word)
{
    size_t length = strlen(word);
    weir_string_t text = text_of_rest(rest);
    if (text.len < length || memcmp(text.ptr, word, length) != 0)
        return false;
    return text.len == length || (text.ptr[length] | 0x20) < 'a' || (text.ptr[length] | 0x20) > 'z';
}

bool weir_config_flag(weir_string_t config, const char *key, bool *flag, weir_failure_t *failure)
{
    struct rest rest;
    if (!find_key(config, key, &rest))
        return true;
    if (!is_word(&rest, "true") && !is_word(&rest, "false"))
        return weir_fail(failure, WEIR_INVALID_CONFIG, key, ": expected `true` or `false`", NULL);
    *flag = *rest.at == 't';
    return true;
}

/* Takes the text in quotes that a configuration goes on with. */
static bool read_text(struct rest *rest, const char *key, weir_string_t *text, weir_failure_t *failure)
{
    if (!take(rest, '"'))
        return weir_fail(failure, WEIR_INVALID_CONFIG, key, ": expected a text", NULL);
    weir_string_t value = take_quoted(rest);
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] == '\\')
            return weir_fail(failure, WEIR_INVALID_CONFIG, key, ": expected a text without a backslash", NULL);
    *text = value;
    return true;
}

bool weir_config_texts(weir_string_t config, const char *key, weir_texts_t *texts, weir_failure_t *failure)
{
    struct rest rest;
    if (!find_key(config, key, &rest))
        return true;
    if (!take(&rest, '['))
        return weir_fail(failure, WEIR_INVALID_CONFIG, key, ": expected a list of texts", NULL);
    /* A text has two quotes. */
    weir_texts_t read = { .ptr = allocate((text_of_rest(&rest).len / 2 + 1) * sizeof *read.ptr) };
    skip_space(&rest);
    for (bool more = !take(&rest, ']'); more; more = take(&rest, ',')) {
        skip_space(&rest);
        if (!read_text(&rest, key, &read.ptr[read.len], failure))
            return false;
        read.len++;
        skip_space(&rest);
    }
    *texts = read;
    return true;
}

bool weir_config_text(weir_string_t config, const char *key, weir_string_t *text, weir_failure_t *failure)
{
    struct rest rest;
    if (!find_key(config, key, &rest))
        return true;
    return read_text(&rest, key, text, failure);
}

/* Takes what is left of an object, whose first brace is behind it. */
static void take_object(struct rest *rest)
{
    for (unsigned depth = 1; depth && rest->at < rest->end;) {
        uint8_t byte = *rest->at++;
        if (byte == '"')
            take_quoted(rest);
        else if (byte == '{')
            depth++;
        else if (byte == '}')
            depth--;
    }
}

bool weir_config_object(weir_string_t config, const char *key, weir_string_t *object, weir_failure_t *failure)
{
    struct rest rest;
    bool is_there = find_key(config, key, &rest);
    const uint8_t *first = rest.at;
    if (is_there && !take(&rest, '{'))
        return weir_fail(failure, WEIR_INVALID_CONFIG, key, ": expected an object", NULL);
    if (is_there) {
        take_object(&rest);
        *object = (weir_string_t){ .ptr = (uint8_t *)first, .len = (size_t)(rest.at - first) };
    }
    return true;
}

/* The commands that a plugin need not have. The plugin's own take their place. */

__attribute__((weak)) bool exports_weir_cni_commands_status(
    weir_status_request_t *request, weir_failure_t *failure)
{
    (void)request, (void)failure;
    return true;
}

__attribute__((weak)) bool exports_weir_cni_commands_gc(weir_gc_request_t *request, weir_failure_t *failure)
{
    (void)request, (void)failure;
    return true;
}

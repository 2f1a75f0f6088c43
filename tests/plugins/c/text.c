/* Text, addresses and configurations of the SDK for C, on this machine. Prints what is wrong. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

static int wrong;

static void expect(bool holds, const char *what, const char *of)
{
    if (!holds) {
        printf("%s: %s\n", what, of);
        wrong = 1;
    }
}

/* Of the bindings, whose functions exist in a component only. */
void plugin_string_dup(plugin_string_t *ret, const char *text)
{
    ret->ptr = (uint8_t *)strdup(text);
    ret->len = strlen(text);
}

static void addresses(void)
{
    /* Each with its text in the shortest form. */
    const char *const read[][2] = {
        { "10.1.0.2", "10.1.0.2" },
        { "0.0.0.0", "0.0.0.0" },
        { "255.255.255.255", "255.255.255.255" },
        { "::", "::" },
        { "::1", "::1" },
        { "FD00::00A1", "fd00::a1" },
        { "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
        { "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
        { "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
        { "fe80::", "fe80::" },
        { "::ffff:10.1.0.2", "::ffff:a01:2" },
        { "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8" },
    };
    const char *const refused[] = { "", "10.1.0", "10.1.0.2.3", "10.1.0.256", "10.1.0.02", "10.1.0.", "1000000000000.1.1.1",
        "10.1.0.2/24", " 10.1.0.2", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::",
        "12345::", "g::", "::1:", "1:2:3:4:5:6:7:10.1.0.2", "fe80::1%eth0" };
    weir_address_t address;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        bool is_read = weir_read_address(weir_string(read[i][0]), &address);
        expect(is_read && strcmp(weir_address_text(&address), read[i][1]) == 0, "an address", read[i][0]);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(!weir_read_address(weir_string(refused[i]), &address), "no address", refused[i]);

    weir_address_t other;
    weir_read_address(weir_string("::ffff:10.1.0.2"), &address);
    weir_read_address(weir_string("10.1.0.2"), &other);
    expect(!weir_is_same_address(&address, &other), "of two families", "10.1.0.2");
    weir_network_t network = { .address = other, .prefix_length = 16 };
    expect(strcmp(weir_network_text(&network), "10.1.0.2/16") == 0, "a network", "10.1.0.2/16");
}

static void macs(void)
{
    const char *const refused[] = { "", "02:00:00:00:00", "02:00:00:00:00:0g", "02-00-00-00-00-01", "02:00:00:00:00:001" };
    uint8_t mac[WEIR_MAC_BYTES];
    bool is_read = weir_read_mac(weir_string("02:00:AA:bb:0c:01"), mac);
    expect(is_read && strcmp(weir_mac_text(mac), "02:00:aa:bb:0c:01") == 0, "a MAC", weir_mac_text(mac));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(!weir_read_mac(weir_string(refused[i]), mac), "no MAC", refused[i]);
}

static void configurations(void)
{
    weir_string_t config = weir_string("{\"a\": {\"mtu\": 1, \"list\": [{\"mtu\": 2}]}, \"text\": \"mtu\", \"quote\\\"mtu\": 3,\n"
                                       "\"mtu\" : 1400, \"name\": \"blue\", \"half\": 1.5, \"large\": 18446744073709551616,\n"
                                       "\"most\": 18446744073709551615, \"below\": -1, \"back\": \"\\u0041\"}");
    weir_failure_t failure;
    uint64_t number = 7;
    weir_string_t text = weir_string("none");
    expect(weir_config_number(config, "absent", &number, &failure) && number == 7, "absent", "a number");
    expect(weir_config_number(config, "mtu", &number, &failure) && number == 1400, "mtu", weir_number_text(number));
    expect(weir_config_number(config, "most", &number, &failure) && number == UINT64_MAX, "most", weir_number_text(number));
    const char *const refused[] = { "half", "large", "below", "name", "a" };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(!weir_config_number(config, refused[i], &number, &failure) && failure.code == WEIR_INVALID_CONFIG,
            "no number", refused[i]);
    expect(weir_config_text(config, "absent", &text, &failure) && weir_is(text, "none"), "absent", "a text");
    expect(weir_config_text(config, "name", &text, &failure) && weir_is(text, "blue"), "name", weir_text(text));
    expect(!weir_config_text(config, "mtu", &text, &failure), "no text", "mtu");
    expect(!weir_config_text(config, "back", &text, &failure), "no text", "back");
    expect(strcmp(weir_text(failure.msg), "back: expected a text without a backslash") == 0, "message",
        weir_text(failure.msg));
}

static void flags_and_lists(void)
{
    weir_string_t config = weir_string("{\"on\": true, \"off\" :false , \"none\": [ ], \"two\": [ \"a\", \"b,]\" ],"
                                       " \"mixed\": [\"a\", 1], \"word\": \"true\", \"longer\": truely}");
    weir_failure_t failure;
    bool flag = false;
    expect(weir_config_flag(config, "absent", &flag, &failure) && !flag, "absent", "a flag");
    expect(weir_config_flag(config, "on", &flag, &failure) && flag, "on", "true");
    expect(weir_config_flag(config, "off", &flag, &failure) && !flag, "off", "false");
    expect(!weir_config_flag(config, "word", &flag, &failure), "no flag", "word");
    expect(strcmp(weir_text(failure.msg), "word: expected `true` or `false`") == 0, "message", weir_text(failure.msg));
    expect(!weir_config_flag(config, "longer", &flag, &failure), "no flag", "longer");

    weir_texts_t texts = { 0 };
    expect(weir_config_texts(config, "absent", &texts, &failure) && texts.len == 0, "absent", "a list");
    expect(weir_config_texts(config, "none", &texts, &failure) && texts.len == 0, "none", "a list");
    expect(weir_config_texts(config, "two", &texts, &failure) && texts.len == 2 && weir_is(texts.ptr[0], "a")
            && weir_is(texts.ptr[1], "b,]"),
        "two", "a list");
    const char *const refused[] = { "mixed", "on", "word" };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(!weir_config_texts(config, refused[i], &texts, &failure) && failure.code == WEIR_INVALID_CONFIG,
            "no list", refused[i]);
}

static void errors(void)
{
    weir_failure_t failure;
    weir_error_t error = { .code = WEIR_CNI_TYPES_ERROR_CODE_BUSY, .message = weir_string("in use") };
    expect(!weir_fail_with(&failure, "cannot rename", &error), "an error", "fails");
    expect(failure.code == WEIR_TRY_AGAIN_LATER, "code", weir_number_text(failure.code));
    expect(strcmp(weir_text(failure.msg), "cannot rename: in use") == 0, "message", weir_text(failure.msg));
    expect(!weir_is_gone(&error), "gone", "busy");
    error.code = WEIR_CNI_TYPES_ERROR_CODE_NO_NAMESPACE;
    expect(weir_is_gone(&error), "gone", "no namespace");
    expect(strcmp(weir_join("a", "", "bc", NULL), "abc") == 0, "joined", "abc");
    expect(strcmp(weir_number_text(0), "0") == 0, "number", "0");
}

static void networks(void)
{
    /* A network, a number, and the address with that number; none where the network has no such address. */
    const struct {
        const char *network;
        uint64_t number;
        const char *address;
    } numbered[] = {
        { "10.1.2.3/16", 0, "10.1.0.0" },
        { "10.1.2.3/16", 258, "10.1.1.2" },
        { "10.1.2.3/16", 65535, "10.1.255.255" },
        { "10.1.2.3/16", 65536, NULL },
        { "10.1.0.129/27", 1, "10.1.0.129" },
        { "10.1.0.129/27", 31, "10.1.0.159" },
        { "10.1.0.129/27", 32, NULL },
        { "10.1.0.1/32", 0, "10.1.0.1" },
        { "10.1.0.1/32", 1, NULL },
        { "0.0.0.0/0", UINT32_MAX, "255.255.255.255" },
        { "0.0.0.0/0", 1ull << 32, NULL },
        { "fd01::ff/64", 2, "fd01::2" },
        { "fd01::ff/64", UINT64_MAX, "fd01::ffff:ffff:ffff:ffff" },
        { "fd01:2:3:4:5::/60", 1, "fd01:2:3::1" },
        { "fd01::/126", 3, "fd01::3" },
        { "fd01::/126", 4, NULL },
        { "::/0", 1, "::1" },
    };
    const char *const refused[] = { "", "/", "10.1.0.0", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/024", "10.1.0.0/256",
        "10.1.0.0/24 ", "/24", "fd01::/129", "10.1.0.0/24/24" };
    weir_network_t network;
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
        weir_address_t address;
        const char *expected = numbered[i].address;
        bool is_read = weir_read_network(weir_string(numbered[i].network), &network);
        bool is_there = is_read && weir_address_at(&network, numbered[i].number, &address);
        expect(is_read && is_there == (expected != NULL), "numbered", numbered[i].network);
        expect(!is_there || strcmp(weir_address_text(&address), expected) == 0, "numbered", expected);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(!weir_read_network(weir_string(refused[i]), &network), "no network", refused[i]);

    weir_read_network(weir_string("10.1.2.3/16"), &network);
    weir_network_t subnet = weir_subnet(&network), single = weir_single(&network.address);
    expect(strcmp(weir_network_text(&subnet), "10.1.0.0/16") == 0, "a subnet", weir_network_text(&subnet));
    expect(strcmp(weir_network_text(&single), "10.1.2.3/32") == 0, "a single one", weir_network_text(&single));
}

static void names(void)
{
    weir_request_t request = { .container_id = weir_string("a"), .ifname = weir_string("bc") };
    weir_request_t other = { .container_id = weir_string("ab"), .ifname = weir_string("c") };
    const char *name = weir_link_name("veth", &request, 0);
    expect(strlen(name) == strlen("veth0c3f8a1e"), "a name", name);
    expect(strcmp(name, weir_link_name("veth", &request, 0)) == 0, "the same name", name);
    expect(strcmp(name, weir_link_name("veth", &request, 1)) != 0, "another attempt", name);
    expect(strcmp(name, weir_link_name("veth", &other, 0)) != 0, "another attachment", name);
    const char *parameter = weir_link_parameter("ipv6.conf", weir_string("eth0.5"), "accept_ra");
    expect(strcmp(parameter, "net.ipv6.conf.eth0/5.accept_ra") == 0, "a parameter", parameter);
}

static void objects(void)
{
    weir_string_t config = weir_string("{\"type\": \"p\", \"ipam\": {\"a\": {\"}\": \"{\"}, \"subnet\": \"x\"}, \"subnet\": \"y\"}");
    weir_failure_t failure;
    weir_string_t object = { 0 }, text = weir_string("none");
    expect(weir_config_object(config, "absent", &object, &failure) && !object.len, "absent", "an object");
    expect(weir_config_text(object, "subnet", &text, &failure) && weir_is(text, "none"), "of nothing", "a text");
    expect(weir_config_object(config, "ipam", &object, &failure), "ipam", "an object");
    expect(weir_config_text(object, "subnet", &text, &failure) && weir_is(text, "x"), "ipam.subnet", weir_text(text));
    expect(weir_config_text(config, "subnet", &text, &failure) && weir_is(text, "y"), "subnet", weir_text(text));
    expect(!weir_config_object(config, "type", &object, &failure) && failure.code == WEIR_INVALID_CONFIG, "no object",
        "type");
}

int main(void)
{
    addresses();
    networks();
    names();
    objects();
    macs();
    configurations();
    flags_and_lists();
    errors();
    return wrong;
}

#include "app/config/effective.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "app/config/options.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(config)

using namespace exa::app;
using namespace exa::app::config;

namespace {

const Environment environment{"node7", "/state", "/cache"};

// What a peer with this file, and these flags, runs with.
exa::Result<EffectiveConfig> effective(const std::string& text,
                                       std::vector<std::pair<std::string, std::string>> flags = {}) {
    const std::string path = std::tmpnam(nullptr);
    std::ofstream(path) << text;
    auto config = effective_config({path, std::move(flags), environment});
    std::remove(path.c_str());
    if (!config && config.error().detail.starts_with(path))
        return exa::Error{config.error().code, config.error().detail.substr(path.size())};
    return config;
}

PeerConfig load(const std::string& text) {
    auto config = effective(text);
    if (!config) BOOST_FAIL(config.error().detail);
    return config.value().values;
}

// The error's detail; "" when the file is accepted.
std::string refusal(const std::string& text) {
    const auto config = effective(text);
    return config ? "" : config.error().detail;
}

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_complete_to_a_loopback_peer_with_the_default_model) {
    PeerConfig config;
    BOOST_TEST(complete_config(config, environment).has_value());
    BOOST_TEST(config.name == "node7-8000");
    BOOST_TEST(config.advertise.link == "127.0.0.1:7947");
    BOOST_TEST(config.data_dir == "/state/exaserve/8000");
    BOOST_TEST(config.model.name == "SmolLM2-135M-Instruct");
}

BOOST_AUTO_TEST_CASE(file_sets_nested_keys_and_lists) {
    const PeerConfig config = load(
        "rack = 'r2'\nseeds = ['a:1', '[::1]:2']\n[listen]\nhttp = '0.0.0.0:9000'\n[advertise]\nhttp = "
        "'10.0.0.1:9000'\n"
        "[model]\nreplicas = 3\n");
    BOOST_TEST(config.rack == "r2");
    BOOST_TEST(config.seeds.size() == 2U);
    BOOST_TEST(config.listen.http == "0.0.0.0:9000");
    BOOST_TEST(config.model.replicas == 3U);
}

BOOST_AUTO_TEST_CASE(an_error_names_the_line_the_key_the_value_and_the_range) {
    BOOST_TEST(refusal("rack = 'r2'\n[model]\nreplicas = 65\n") ==
               ":3: model.replicas: '65' is not a whole number from 0 to 64");
    BOOST_TEST(refusal("[model]\nreplica = 1\n") == ":2: unknown key 'model.replica'");
    BOOST_TEST(refusal("name = 'a b'\n") == ":1: name: 'a b' is not 1 to 63 letters, digits, '-', '_' or '.'");
    BOOST_TEST(refusal("name = 1.5\n") == ":1: name: 1.5 is not a string in quotes");
    BOOST_TEST(refusal("name = \n").starts_with(":1: "));
    BOOST_TEST(refusal("[listen]\nhttp = 'nowhere'\n").starts_with(":2: listen.http: 'nowhere' is not HOST:PORT"));
    BOOST_TEST(refusal("[kv]\nsegment_tokens = 72\n") ==
               ":2: kv.segment_tokens: '72' is not a multiple of 16 from 16 to 1024");
    BOOST_TEST(refusal("[kv]\ndurability = 'maybe'\n") == ":2: kv.durability: 'maybe' is not none, wal or sync");
    BOOST_TEST(effective_config({"/nowhere/peer.toml", {}, environment}).error().detail ==
               "/nowhere/peer.toml: not a file");
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_is_refused_with_key_value_and_type) {
    const auto problem = [](const std::string& line) {
        const std::string text = refusal(line);
        return text.substr(text.find(": ") + 2);
    };
    BOOST_TEST(problem("name = 5") == "name: 5 is not a string in quotes");
    BOOST_TEST(problem("name = true") == "name: true is not a string in quotes");
    BOOST_TEST(problem("drain_seconds = \"30\"") == "drain_seconds: '30' is not a whole number without quotes");
    BOOST_TEST(problem("drain_seconds = 30.0") == "drain_seconds: 30.0 is not a whole number without quotes");
    BOOST_TEST(problem("[kv]\nenabled = 1") == "kv.enabled: 1 is not true or false without quotes");
    BOOST_TEST(problem("[membership]\nload_change = '1'") ==
               "membership.load_change: '1' is not a number without quotes");
    BOOST_TEST(problem("seeds = [1]") == "seeds: [ 1 ] is not a list of strings");
    BOOST_TEST(problem("rack = 2024-01-01") == "rack: 2024-01-01 is not a string in quotes");
}

BOOST_AUTO_TEST_CASE(a_flag_overrides_the_file_and_the_file_the_default) {
    const auto config = effective("rack = 'r2'\nregion = 'north'\n", {{"rack", "r3"}}).value();
    BOOST_TEST(config.values.rack == "r3");
    BOOST_TEST(config.values.region == "north");
    const auto source = [&](std::string_view name) {
        return to_string(config.sources[static_cast<std::size_t>(find_option(name) - peer_options().data())]);
    };
    BOOST_TEST(source("rack") == "flag");
    BOOST_TEST(source("region") == "file");
    BOOST_TEST(source("cluster") == "default");
    BOOST_TEST(source("data_dir") == "environment");
    BOOST_TEST(source("membership.probe_interval_ms") == "default");
    BOOST_TEST(effective("", {{"rack", ""}}).error().detail.starts_with("rack: '' is not 1 to 63"));
}

BOOST_AUTO_TEST_CASE(explicit_membership_keys_override_the_profile_wherever_that_is_given) {
    const auto config = effective("[membership]\nlost_after_ms = 7000\n", {{"membership.profile", "hpc"}}).value();
    auto expected = exa::membership::hpc();
    expected.lost_after = std::chrono::seconds(7);
    BOOST_TEST(config.values.membership == expected);
    const auto source = [&](std::string_view name) {
        return to_string(config.sources[static_cast<std::size_t>(find_option(name) - peer_options().data())]);
    };
    BOOST_TEST(source("membership.profile") == "flag");
    BOOST_TEST(source("membership.lost_after_ms") == "file");
    BOOST_TEST(source("membership.probe_interval_ms") == "profile");
    BOOST_TEST(load("").membership == exa::membership::lan());
}

BOOST_AUTO_TEST_CASE(values_that_contradict_each_other_are_refused_by_name) {
    BOOST_TEST(refusal("[membership]\nprobe_timeout_ms = 800\n") ==
               "membership.probe_timeout = 800 ms, allowed at most 500 ms");
    BOOST_TEST(refusal("[router]\nbreaker_open_max_ms = 1000\n") ==
               "router.breaker_open_max_ms: '1000' is less than breaker_open_ms, 2000");
    BOOST_TEST(refusal("[model]\nkv_tokens = 256\ncontext_tokens = 512\n") ==
               "model.context_tokens: 512 is more than model.kv_tokens, 256");
}

BOOST_AUTO_TEST_CASE(attached_servers_are_replicas_and_need_urls_and_a_name) {
    const std::string urls = "[attach]\nurls = ['http://a:1', 'http://b:2/x']\n";
    BOOST_TEST(refusal("[model]\nengine = 'attach'\n").starts_with("attach.urls is needed"));
    BOOST_TEST(refusal("[model]\nengine = 'attach'\n" + urls).starts_with("model.name is needed"));
    BOOST_TEST(load("[model]\nengine = 'attach'\nname = 'm'\n" + urls).model.replicas == 2U);
    BOOST_TEST(refusal("[attach]\nurls = ['http://a:1', 'a:2']\n") ==
               ":2: attach.urls: 'a:2' does not begin with http://");
    BOOST_TEST(refusal("[attach]\nhealth_path = 'health'\n").ends_with("is not a path such as /health"));
}

BOOST_AUTO_TEST_CASE(unspecified_address_needs_an_advertised_one) {
    BOOST_TEST(refusal("[listen]\nlink = '0.0.0.0:7947'\n").starts_with("advertise.link is needed"));
}

BOOST_AUTO_TEST_CASE(kv_is_kept_for_engines_that_have_some_unless_told_otherwise) {
    const auto is_enabled = [](const std::string& toml) {
        const PeerConfig config = load("data_dir = '/data'\n" + toml);
        BOOST_TEST(config.kv.directory == "/data/kv");
        return config.kv.enabled.value();
    };
    BOOST_TEST(is_enabled(""));
    BOOST_TEST(!is_enabled("[model]\nengine = 'null'\n"));
    BOOST_TEST(!is_enabled("[model]\nreplicas = 0\n"));
    BOOST_TEST(is_enabled("[model]\nengine = 'null'\n[kv]\nenabled = true\n"));
    BOOST_TEST(!is_enabled("[kv]\nenabled = false\n"));
    const PeerConfig config = load("[kv]\nsegment_tokens = 128\nmemory_mib = 0\ncapacity_gib = 0\n");
    BOOST_TEST(config.kv.segment_tokens == 128U);
}

BOOST_AUTO_TEST_CASE(certificate_needs_its_key) {
    BOOST_TEST(refusal("[http]\ncertificate_file = 'c'\n") ==
               "http.certificate_file and http.key_file are needed together");
    BOOST_TEST(refusal("[http]\ncertificate_file = 'c'\nkey_file = 'k'\n") == "");
}

BOOST_AUTO_TEST_CASE(origins_are_a_list_of_origins) {
    BOOST_TEST(load("[http]\ncors_origins = ['https://a', 'http://b:1']\n").http.cors_origins ==
               "https://a,http://b:1");
    BOOST_TEST(refusal("[http]\ncors_origins = 'https://a/'\n").starts_with(":2: http.cors_origins: 'https://a/' is"));
}

BOOST_AUTO_TEST_SUITE_END()

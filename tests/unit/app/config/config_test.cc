#include "app/config/config.h"

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

BOOST_AUTO_TEST_SUITE(config)

using namespace exa::app;

namespace {

const Environment environment{"node7", "/state", "/cache"};

// Loads `text` as a file; the error's detail, or "" when it was taken.
std::string load(const std::string& text, PeerConfig& config) {
    const std::string path = std::tmpnam(nullptr);
    std::ofstream(path) << text;
    const auto done = load_config(config, path);
    std::remove(path.c_str());
    return done ? "" : done.error().detail.substr(path.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_complete_to_a_loopback_peer_with_the_default_model) {
    PeerConfig config;
    BOOST_TEST(complete_config(config, environment).has_value());
    BOOST_TEST(config.name == "node7-8000");
    BOOST_TEST(config.advertise_link == "127.0.0.1:7947");
    BOOST_TEST(config.data_dir == "/state/exaserve/8000");
    BOOST_TEST(config.model_name == "SmolLM2-135M-Instruct");
}

BOOST_AUTO_TEST_CASE(file_sets_nested_keys_and_lists) {
    PeerConfig config;
    BOOST_TEST(load("rack = 'r2'\nseeds = ['a:1', '[::1]:2']\n[listen]\nhttp = '0.0.0.0:9000'\n[model]\nreplicas = 3\n",
                    config) == "");
    BOOST_TEST(config.rack == "r2");
    BOOST_TEST(config.seeds.size() == 2U);
    BOOST_TEST(config.listen_http == "0.0.0.0:9000");
    BOOST_TEST(config.replicas == 3U);
}

BOOST_AUTO_TEST_CASE(errors_name_line_key_value_and_range_and_change_nothing) {
    PeerConfig config;
    BOOST_TEST(load("rack = 'r2'\n[model]\nreplicas = 65\n", config) ==
               ":3: model.replicas: '65' is not a whole number from 0 to 64");
    BOOST_TEST(config.rack == "rack-1");
    BOOST_TEST(load("[model]\nreplica = 1\n", config) == ":2: unknown key 'model.replica'");
    BOOST_TEST(load("name = 'a b'\n", config) == ":1: name: 'a b' is not 1 to 63 letters, digits, '-', '_' or '.'");
    BOOST_TEST(load("name = 1.5\n", config) == ":1: name: 1.5 is not a string in quotes");
    BOOST_TEST(load("name = \n", config).starts_with(":1: "));
    BOOST_TEST(load("[listen]\nhttp = 'nowhere'\n", config).starts_with(":2: listen.http: 'nowhere' is not HOST:PORT"));
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_is_refused_with_key_value_and_type) {
    PeerConfig config;
    const auto refusal = [&](const std::string& line) {
        const std::string text = load(line, config);
        return text.substr(text.find(": ") + 2);
    };
    BOOST_TEST(refusal("name = 5") == "name: 5 is not a string in quotes");
    BOOST_TEST(refusal("name = true") == "name: true is not a string in quotes");
    BOOST_TEST(refusal("drain_seconds = \"30\"") == "drain_seconds: '30' is not a whole number without quotes");
    BOOST_TEST(refusal("drain_seconds = 30.0") == "drain_seconds: 30.0 is not a whole number without quotes");
    BOOST_TEST(refusal("[kv]\nenabled = 1") == "kv.enabled: 1 is not true or false without quotes");
    BOOST_TEST(refusal("seeds = [1]") == "seeds: [ 1 ] is not a list of strings");
    BOOST_TEST(refusal("rack = 2024-01-01") == "rack: 2024-01-01 is not a string in quotes");
}

BOOST_AUTO_TEST_CASE(every_key_takes_one_type_and_no_other) {
    const auto is_of_a_type = [](const std::string& error) {
        for (const char* type : {"a string in quotes", "a whole number without quotes", "true or false without quotes",
                                 "a list of strings"})
            if (error.ends_with(std::string(" is not ") + type)) return false;
        return true;
    };
    for (const ConfigKey& key : config_keys()) {
        std::size_t taken = 0;
        for (const char* value : {"\"127.0.0.1:1\"", "7", "true", "[\"127.0.0.1:1\"]"}) {
            PeerConfig config;
            taken += is_of_a_type(load(std::string(key.name) + " = " + value, config)) ? 1 : 0;
        }
        // A list of one may be a string. What is of the right type may be refused for what it says.
        BOOST_TEST(taken == (key.value.ends_with(",...") ? 2U : 1U), key.name);
        PeerConfig config;
        const bool takes_numbers_alone = !key.set(config, "words") && key.set(config, "64");
        if (takes_numbers_alone) BOOST_TEST(load(std::string(key.name) + " = 64", config) == "", key.name);
    }
}

BOOST_AUTO_TEST_CASE(attached_servers_are_replicas_and_need_urls_and_a_name) {
    const auto detail = [](PeerConfig config) {
        const auto done = complete_config(config, environment);
        return done ? std::to_string(config.replicas) : done.error().detail;
    };
    PeerConfig config;
    BOOST_TEST(load("[model]\nengine = 'attach'\n", config) == "");
    BOOST_TEST(detail(config).starts_with("attach.urls is needed"));
    BOOST_TEST(load("[attach]\nurls = ['http://a:1', 'http://b:2/x']\n", config) == "");
    BOOST_TEST(detail(config).starts_with("model.name is needed"));
    BOOST_TEST(load("[model]\nname = 'm'\n", config) == "");
    BOOST_TEST(detail(config) == "2");
    BOOST_TEST(load("[attach]\nurls = ['http://a:1', 'a:2']\n", config) ==
               ":2: attach.urls: 'a:2' does not begin with http://");
    BOOST_TEST(load("[attach]\nhealth_path = 'health'\n", config).ends_with("is not a path such as /health"));
}

BOOST_AUTO_TEST_CASE(unspecified_address_needs_an_advertised_one) {
    PeerConfig config;
    BOOST_TEST(set_config(config, "listen.link", "0.0.0.0:7947").has_value());
    const auto done = complete_config(config, environment);
    BOOST_TEST(!done.has_value());
    BOOST_TEST(done.error().detail.starts_with("advertise.link is needed"));
}

BOOST_AUTO_TEST_CASE(context_must_fit_the_kv_cache) {
    PeerConfig config;
    config.kv_tokens = 256;
    config.context_tokens = 512;
    BOOST_TEST(!complete_config(config, environment).has_value());
}

BOOST_AUTO_TEST_CASE(kv_is_kept_for_engines_that_have_some_unless_told_otherwise) {
    const auto enabled = [](const std::string& toml) {
        PeerConfig config;
        config.data_dir = "/data";
        BOOST_TEST(load(toml, config) == "");
        BOOST_TEST(complete_config(config, environment).has_value());
        BOOST_TEST(config.kv_directory == "/data/kv");
        return config.kv_enabled.value();
    };
    BOOST_TEST(enabled(""));
    BOOST_TEST(!enabled("[model]\nengine = 'null'\n"));
    BOOST_TEST(!enabled("[model]\nreplicas = 0\n"));
    BOOST_TEST(enabled("[model]\nengine = 'null'\n[kv]\nenabled = true\n"));
    BOOST_TEST(!enabled("[kv]\nenabled = false\n"));
    PeerConfig config;
    BOOST_TEST(load("[kv]\nsegment_tokens = 72\n", config) ==
               ":2: kv.segment_tokens: '72' is not a multiple of 16 from 16 to 1024");
    BOOST_TEST(load("[kv]\ndurability = 'maybe'\n", config) == ":2: kv.durability: 'maybe' is not none, wal or sync");
    BOOST_TEST(load("[kv]\nsegment_tokens = 128\nmemory_mb = 0\ncapacity_gb = 0\n", config) == "");
    BOOST_TEST(config.kv_segment_tokens == 128U);
}

BOOST_AUTO_TEST_CASE(certificate_needs_its_key) {
    PeerConfig config;
    BOOST_TEST(load("[http]\ncertificate_file = 'c'\n", config) == "");
    BOOST_TEST(complete_config(config, environment).error().detail ==
               "http.certificate_file and http.key_file are needed together");
    BOOST_TEST(load("[http]\nkey_file = 'k'\n", config) == "");
    BOOST_TEST(complete_config(config, environment).has_value());
}

BOOST_AUTO_TEST_CASE(origins_are_a_list_of_origins) {
    PeerConfig config;
    BOOST_TEST(load("[http]\ncors_origins = ['https://a', 'http://b:1']\n", config) == "");
    BOOST_TEST(config.http_cors_origins == "https://a,http://b:1");
    BOOST_TEST(
        load("[http]\ncors_origins = 'https://a/'\n", config).starts_with(":2: http.cors_origins: 'https://a/' is"));
}

BOOST_AUTO_TEST_CASE(every_key_has_help_with_its_default) {
    std::set<std::string_view> names;
    for (const ConfigKey& key : config_keys()) {
        BOOST_TEST(names.insert(key.name).second, key.name);
        BOOST_TEST(key.help.find("Default: ") != std::string_view::npos, key.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()

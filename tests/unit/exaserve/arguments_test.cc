#include "exaserve/arguments.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <initializer_list>

#include "app/config/options.h"
#include "exaserve/exit_code.h"
#include "support/print.h"

namespace {

using namespace exa::cli;

std::variant<Command, NoCommand> parse(std::initializer_list<const char*> arguments) {
    std::vector<const char*> argv = {"exaserve"};
    argv.insert(argv.end(), arguments);
    return parse_arguments(static_cast<int>(argv.size()), argv.data());
}

constexpr const char* segment = "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c";

template <class Options>
Options parsed(std::initializer_list<const char*> arguments) {
    const auto result = parse(arguments);
    BOOST_TEST_REQUIRE(std::holds_alternative<Command>(result));
    const auto* options = std::get_if<Options>(&std::get<Command>(result));
    BOOST_TEST_REQUIRE(options != nullptr);
    return *options;
}

NoCommand refused(std::initializer_list<const char*> arguments) {
    const auto result = parse(arguments);
    BOOST_TEST_REQUIRE(std::holds_alternative<NoCommand>(result));
    return std::get<NoCommand>(result);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(arguments)

BOOST_AUTO_TEST_CASE(up_has_three_peers_of_two_replicas_unless_told) {
    const auto plain = parsed<UpOptions>({"up"});
    BOOST_TEST(plain.peers == 3u);
    BOOST_TEST(plain.replicas == 2u);
    BOOST_TEST(plain.base_port == 8000u);
    const auto told = parsed<UpOptions>({"up",
                                         "--peers",
                                         "5",
                                         "--replicas",
                                         "1",
                                         "--racks",
                                         "2",
                                         "--base-port",
                                         "9000",
                                         "--run-dir",
                                         "/r",
                                         "--ready-file",
                                         "/r/ready",
                                         "--model",
                                         "m.gguf",
                                         "--engine",
                                         "builtin",
                                         "--set",
                                         "log.level=debug",
                                         "--set",
                                         "a=b=c",
                                         "--json"});
    BOOST_TEST(told.peers == 5u);
    BOOST_TEST(told.racks == 2u);
    BOOST_TEST(told.base_port == 9000u);
    BOOST_TEST(told.ready_file == "/r/ready");
    BOOST_TEST(told.model == "m.gguf");
    BOOST_TEST(told.json);
    BOOST_TEST_REQUIRE(told.settings.size() == 2u);
    BOOST_TEST(told.settings[1].first == "a");
    BOOST_TEST(told.settings[1].second == "b=c");
}

BOOST_AUTO_TEST_CASE(every_key_of_the_configuration_is_a_flag_of_peer) {
    for (const exa::app::config::PeerOption& key : exa::app::config::peer_options()) {
        const std::string argument = flag_of(key.name) + "=x";
        const auto options = parsed<PeerOptions>({"peer", argument.c_str()});
        BOOST_TEST_REQUIRE(options.settings.size() == 1u);
        BOOST_TEST(options.settings[0].first == key.name);
        BOOST_TEST(options.settings[0].second == "x");
        BOOST_TEST(refused({"peer", "--help"}).output.find(flag_of(key.name)) != std::string::npos);
    }
    BOOST_TEST(parsed<PeerOptions>({"peer", "--config", "p.toml"}).config_file == "p.toml");
}

BOOST_AUTO_TEST_CASE(the_peer_comes_from_the_flag_then_the_environment_then_the_default) {
    unsetenv("EXASERVE_PEER");
    BOOST_TEST(parsed<MembersOptions>({"members"}).target.url == "http://127.0.0.1:8000");
    setenv("EXASERVE_PEER", "http://10.0.0.1:1", 1);
    BOOST_TEST(parsed<MembersOptions>({"members"}).target.url == "http://10.0.0.1:1");
    // Also of a command with commands of its own.
    BOOST_TEST(parsed<KvOptions>({"kv", "stats"}).target.url == "http://10.0.0.1:1");
    BOOST_TEST(parsed<MembersOptions>({"members", "--peer", "b:2"}).target.url == "b:2");
    BOOST_TEST(parsed<KvOptions>({"kv", "stats", "--peer", "b:2"}).target.url == "b:2");
    BOOST_TEST(parsed<KeysOptions>({"keys", "list", "--peer", "b:2"}).target.url == "b:2");
    unsetenv("EXASERVE_PEER");
    setenv("EXASERVE_ADMIN_KEY", "one", 1);
    BOOST_TEST(parsed<KvOptions>({"kv", "repair", "--admin-key", "other"}).target.admin_key == "other");
    BOOST_TEST(parsed<KvOptions>({"kv", "repair"}).target.admin_key == "one");
    unsetenv("EXASERVE_ADMIN_KEY");
}

BOOST_AUTO_TEST_CASE(a_command_that_there_is_not_is_named) {
    BOOST_TEST(refused({"dance"}).errors.find("no command 'dance'; there are up, peer") != std::string::npos);
    const auto end = refused({"kv", "delete", "00"});
    BOOST_TEST(end.errors.find("no command 'delete'; there are stats, locate") != std::string::npos);
    BOOST_TEST(refused({"members", "extra"}).errors.find("no command") == std::string::npos);
    BOOST_TEST(refused({"kv", "locate", "--key", "zz"}).errors.find("64 hexadecimal digits") != std::string::npos);
    BOOST_TEST(refused({"kv", "get", "12"}).errors.find("64 hexadecimal digits") != std::string::npos);
    BOOST_TEST(refused({"kv", "locate", ""}).exit_code == exit_usage);
}

BOOST_AUTO_TEST_CASE(every_question_takes_json) {
    BOOST_TEST(parsed<MembersOptions>({"members", "--json"}).target.json);
    BOOST_TEST(parsed<StatusOptions>({"status", "--json"}).target.json);
    BOOST_TEST(parsed<ReplicasOptions>({"replicas", "--json"}).target.json);
    BOOST_TEST(parsed<RingOptions>({"ring", "--json", "--model", "m"}).model == "m");
    const auto route = parsed<RouteOptions>({"route", "--session", "abc", "--json"});
    BOOST_TEST(route.session == "abc");
    BOOST_TEST(route.target.json);
    BOOST_TEST(parsed<JoinOptions>({"join", "a:1", "b:2", "--json"}).seeds.size() == 2u);
    BOOST_TEST(parsed<LeaveOptions>({"leave", "--json"}).wait);
    BOOST_TEST(!parsed<LeaveOptions>({"leave", "--no-wait"}).wait);
}

BOOST_AUTO_TEST_CASE(orders_about_keys_are_told_apart) {
    const auto list = parsed<KeysOptions>({"keys", "list", "--peer", "b:2", "--json"});
    BOOST_TEST(list.action == KeysAction::list);
    BOOST_TEST(list.target.url == "b:2");
    BOOST_TEST(list.target.json);
    BOOST_TEST(parsed<KeysOptions>({"keys", "add"}).file.empty());
    BOOST_TEST(parsed<KeysOptions>({"keys", "add", "-"}).file == "-");
    const auto use = parsed<KeysOptions>({"keys", "use", "0000000a"});
    BOOST_TEST(use.action == KeysAction::use);
    BOOST_TEST(!use.force);
    const auto remove = parsed<KeysOptions>({"keys", "remove", "0000000a", "--force"});
    BOOST_TEST(remove.action == KeysAction::remove);
    BOOST_TEST(remove.id == "0000000a");
    BOOST_TEST(remove.force);
    BOOST_TEST(parsed<KeysOptions>({"keys", "generate"}).action == KeysAction::generate);
    for (const auto& arguments : std::initializer_list<std::initializer_list<const char*>>{
             {"keys"}, {"keys", "use"}, {"keys", "remove"}, {"keys", "add", "a", "b"}, {"keys", "list", "--force"}})
        BOOST_TEST(refused(arguments).exit_code == exit_usage);
}

BOOST_AUTO_TEST_CASE(each_look_into_the_kv_cache_has_its_arguments) {
    const auto stats = parsed<KvOptions>({"kv", "stats", "--peer", "b:2", "--json"});
    BOOST_TEST(stats.command == KvCommand::stats);
    BOOST_TEST(stats.target.url == "b:2");
    BOOST_TEST(stats.target.json);
    BOOST_TEST(parsed<KvOptions>({"kv", "verify"}).command == KvCommand::verify);
    BOOST_TEST(parsed<KvOptions>({"kv", "locate", "alice"}).session == "alice");
    BOOST_TEST(parsed<KvOptions>({"kv", "locate", "--key", segment}).key == segment);
    const auto migrate = parsed<KvOptions>({"kv", "migrate", "--replica", "r", "--to", "p"});
    BOOST_TEST(migrate.replica == "r");
    BOOST_TEST(migrate.to == "p");
    BOOST_TEST(parsed<KvOptions>({"kv", "repair", "--wait"}).wait);
    BOOST_TEST(parsed<DrainOptions>({"drain", "peer-2"}).name == "peer-2");
    const auto locate = parsed<KvOptions>({"kv", "locate", "--request", "-", "--tenant", "t"});
    BOOST_TEST(locate.file == "-");
    BOOST_TEST(locate.tenant == "t");
    BOOST_TEST(parsed<KvOptions>({"kv", "get", segment, "--output", "f"}).file == "f");
    const auto put = parsed<KvOptions>({"kv", "put", segment, "-"});
    BOOST_TEST(put.command == KvCommand::put);
    BOOST_TEST(put.file == "-");
    BOOST_TEST(parsed<KvOptions>({"kv", "del", segment}).command == KvCommand::del);
    const auto quota = parsed<KvOptions>({"kv", "quota", "acme", "--gib", "20"});
    BOOST_TEST(quota.tenant == "acme");
    BOOST_TEST(quota.gib.value() == 20U);
    BOOST_TEST(!parsed<KvOptions>({"kv", "quota"}).gib.has_value());
    for (const auto& arguments :
         std::initializer_list<std::initializer_list<const char*>>{{"kv"},
                                                                   {"kv", "locate"},
                                                                   {"kv", "locate", "ab", "--request", "-"},
                                                                   {"kv", "migrate", "ab"},
                                                                   {"kv", "migrate", "--to", "p"},
                                                                   {"kv", "get"},
                                                                   {"kv", "put", segment},
                                                                   {"kv", "quota", "a", "--gib", "-1"},
                                                                   {"kv", "stats", "ab"}})
        BOOST_TEST(refused(arguments).exit_code == exit_usage);
}

BOOST_AUTO_TEST_CASE(api_keys_are_made_listed_and_revoked_in_a_file) {
    const auto create = parsed<ApiKeysOptions>({"apikeys", "create", "--file", "f", "--tenant", "t", "--admin"});
    BOOST_TEST(create.action == ApiKeysAction::create);
    BOOST_TEST(create.file == "f");
    BOOST_TEST(create.tenant == "t");
    BOOST_TEST(create.admin);
    BOOST_TEST(parsed<ApiKeysOptions>({"apikeys", "list", "--file", "f"}).action == ApiKeysAction::list);
    const auto revoke = parsed<ApiKeysOptions>({"apikeys", "revoke", "--file", "f", "0000000a", "--json"});
    BOOST_TEST(revoke.action == ApiKeysAction::revoke);
    BOOST_TEST(revoke.id == "0000000a");
    BOOST_TEST(revoke.target.json);
    for (const auto& arguments : std::initializer_list<std::initializer_list<const char*>>{
             {"apikeys"}, {"apikeys", "list"}, {"apikeys", "create"}, {"apikeys", "revoke", "--file", "f"}})
        BOOST_TEST(refused(arguments).exit_code == exit_usage);
}

BOOST_AUTO_TEST_CASE(an_admins_key_goes_to_every_command_that_asks_a_peer) {
    BOOST_TEST(parsed<MembersOptions>({"members", "--admin-key", "k"}).target.admin_key == "k");
    BOOST_TEST(parsed<KeysOptions>({"keys", "list", "--admin-key", "k"}).target.admin_key == "k");
    BOOST_TEST(parsed<UpOptions>({"up", "--admin-key", "k"}).admin_key == "k");
}

BOOST_AUTO_TEST_CASE(wrong_usage_is_exit_code_2_with_a_reason) {
    for (const auto& arguments :
         std::initializer_list<std::initializer_list<const char*>>{{},
                                                                   {"dance"},
                                                                   {"up", "--peers", "0"},
                                                                   {"up", "--peers", "x"},
                                                                   {"up", "--engine", "warp"},
                                                                   {"up", "--set", "novalue"},
                                                                   {"peer", "--no-such-key=1"},
                                                                   {"join"},
                                                                   {"route", "--priority", "urgent"},
                                                                   {"members", "extra"}}) {
        const auto end = refused(arguments);
        BOOST_TEST(end.exit_code == exit_usage);
        BOOST_TEST(!end.errors.empty());
        BOOST_TEST(end.output.empty());
    }
}

BOOST_AUTO_TEST_CASE(help_and_version_are_no_errors) {
    for (const char* flag : {"--help", "--version"}) {
        const auto end = refused({flag});
        BOOST_TEST(end.exit_code == exit_ok);
        BOOST_TEST(!end.output.empty());
        BOOST_TEST(end.errors.empty());
    }
    BOOST_TEST(refused({"--help"}).output.find("Exit codes") != std::string::npos);
    BOOST_TEST(refused({"up", "--help"}).output.find("--base-port") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_hint_names_the_peer_and_whom_to_trust_and_no_key) {
    Target target;
    target.url = "https://a:1";
    target.admin_key = "sk-exa-secret";
    BOOST_TEST(flags_of(target) == " --peer https://a:1");
    target.ca_file = "ca.pem";
    BOOST_TEST(flags_of(target) == " --peer https://a:1 --ca-file ca.pem");
}

BOOST_AUTO_TEST_SUITE_END()

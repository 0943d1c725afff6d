// The options of a peer: the one list that the TOML parser, the command line's flags (`listen.http` is
// `--listen-http`), the help and docs/reference/configuration.md are made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "base/option.h"

namespace exa::app::config {

using PeerOption = Option<PeerConfig>;

const std::vector<PeerOption>& peer_options();
// Null: there is none of that name.
const PeerOption* find_option(std::string_view name);

// Sets one option from text. errc::usage names the option, the value and the range; `config` is then unchanged.
Result<void> set_option(PeerConfig& config, std::string_view name, std::string_view text);

// The parts of the list: top_options() has no table, the others are named without theirs.
std::vector<PeerOption> top_options();
std::vector<Option<SecuritySettings>> security_options();
std::vector<Option<AddressSettings>> listen_options();
std::vector<Option<AddressSettings>> advertise_options();
std::vector<Option<ModelSettings>> model_options();
std::vector<Option<NullSettings>> null_options();
std::vector<Option<AttachSettings>> attach_options();
std::vector<Option<KvSettings>> kv_options();
std::vector<Option<HttpSettings>> http_options();
std::vector<Option<io::http::HttpConfig>> http_server_options();
std::vector<Option<io::log::LogConfig>> log_options();
PeerOption profile_option();
std::vector<Option<membership::Config>> membership_options();

}  // namespace exa::app::config

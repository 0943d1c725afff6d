// Redaction: what keeps a secret that got into a line from getting into the log.
//
// Nobody logs keys on purpose. This is for the header field, the URL or the message of another program in which one
// came along.
#pragma once

#include <string>
#include <string_view>

namespace exa::io::log {

// True for names whose whole value is a secret, in any case: authorization, api-key, password, secret, token and names
// that end so ("x-api-key", "root_secret").
bool is_secret_name(std::string_view name);

// `text` with "..." behind the start of every API key (sk-...) and in place of credentials (Bearer ..., Basic ...).
std::string redacted(std::string_view text);

}  // namespace exa::io::log

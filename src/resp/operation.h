// What a session wants from a keyspace, and what it hears of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "resp/reply.h"
#include "resp/request.h"

namespace exa::resp {

enum class Verb : std::uint8_t { get, set, exists, remove, length, scan };

struct Operation {
    Verb verb = Verb::get;
    std::string tenant;
    std::vector<std::string> keys;  // one, or several of get, exists and remove
    // Of set: the value, in either of two forms.
    std::string value;
    std::vector<Body> bodies;
    std::uint64_t body_bytes = 0;
    std::optional<std::int64_t> expires_ms;  // Unix time
    bool only_if_absent = false;
    bool only_if_present = false;
    bool wants_old = false;
    // Of scan.
    std::uint64_t cursor = 0;
    std::uint32_t count = 10;
    std::string pattern;  // empty: all
    bool none = false;    // of a type that no value has: nothing is listed
};

struct Outcome {
    std::vector<std::optional<Value>> values{};  // of get, in the order of the keys; of set, the old one
    std::int64_t number = 0;                     // how many there are, were removed, or bytes long
    bool done = true;                            // of set: the conditions held
    std::uint64_t cursor = 0;                    // of scan: 0 at the end
    std::vector<std::string> keys{};             // of scan
};

// Where the values are.
class Keyspace {
  public:
    virtual ~Keyspace() = default;

    // As MakeBody, for the value of a set in `tenant`.
    virtual std::optional<Body> make_body(const std::string& tenant, const Request& so_far, std::uint64_t bytes) = 0;
    // Calls `done` once, within the call or later, from any thread.
    virtual void run(Operation operation, std::function<void(Outcome)> done) = 0;
};

}  // namespace exa::resp

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

enum class Verb : std::uint8_t {
    get,
    take,  // get, and remove what was got
    set,
    set_many,
    exists,
    remove,
    length,
    expiry,  // when a value goes
    expire,  // changes that
    scan,
    list,
    count,
    clear,
};

// When an expiry may be changed, by the present one; a value without one goes later than any other.
struct ExpiryRule {
    bool only_if_none = false;
    bool only_if_any = false;
    bool only_if_later = false;
    bool only_if_sooner = false;
};

struct Operation {
    Verb verb = Verb::get;
    std::string tenant;
    std::vector<std::string> keys;  // one, or several of get, set_many, exists and remove
    // Of set: the value, in either of two forms.
    std::string value;
    std::vector<Body> bodies;
    std::uint64_t body_bytes = 0;
    bool is_refused = false;                 // there was no memory for the value
    std::optional<std::int64_t> expires_ms;  // Unix time; also of expire: nothing is for good
    bool keeps_expiry = false;               // that of the value before
    bool only_if_absent = false;
    bool only_if_present = false;
    bool wants_old = false;  // also of expire: the value
    // Of set_many, in the order of the keys.
    std::vector<std::string> values;
    // Of expire.
    ExpiryRule expiry_rule;
    // Of scan and list.
    std::uint64_t cursor = 0;
    std::uint32_t count = 10;
    std::string pattern;  // empty: all
    bool none = false;    // of a type that no value has: nothing is listed
};

struct Outcome {
    std::vector<std::optional<Value>> values{};  // of get, in the order of the keys; of the others, the old one
    std::int64_t number = 0;                     // how many there are, were removed, or bytes long; of expiry: Unix
                                                 // milliseconds, 0 for good
    bool done = true;                            // of set and expire: the conditions held; of expiry: there is a value
    std::uint64_t cursor = 0;                    // of scan: 0 at the end
    std::vector<std::string> keys{};             // of scan and list
    std::string error{};                         // as an answer says it; nothing was done
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

// StreamProgress: the tokens of an answer that its client has, in each of its choices, and so what another replica is
// to go on from. An ingress keeps one a request; the simulator keeps the same.
//
// Every piece of an answer says where it begins. What does not follow on what is there is refused, so that no token is
// lost or told twice whatever a replica sends. As long as the client has seen nothing, an answer may begin again: on a
// replica of other numerics, which would not go on with the same text, or when a replica itself begins at 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace exa::router {

class StreamProgress {
  public:
    using Tokens = std::vector<std::uint32_t>;

    // `choices_max`: of an answer, at least 1.
    explicit StreamProgress(std::size_t choices_max) : choices_max_(choices_max), choices_(1) {}

    // An attempt at a replica of these numerics (a hash; 0: none declared). True: it goes on from choices().
    bool begin(std::uint64_t numerics);
    // From here on the client has a part of the answer, and nothing is taken back.
    void commit() { committed_ = true; }
    // Tokens of a choice, the first of them at `offset`. False, and nothing changed: they do not follow.
    bool take(std::size_t choice, std::uint32_t offset, std::span<const std::uint32_t> tokens);

    // Those that are there of each choice; how many choices there are shows as they come, one at least.
    const std::vector<Tokens>& choices() const { return choices_; }
    std::uint64_t tokens() const { return tokens_; }
    // Tokens since begin().
    std::uint64_t progress() const { return tokens_ - tokens_before_; }

  private:
    std::size_t choices_max_;
    std::vector<Tokens> choices_;
    std::uint64_t tokens_ = 0;
    std::uint64_t tokens_before_ = 0;  // the attempt
    std::uint64_t numerics_ = 0;       // under which the tokens were made
    bool committed_ = false;
};

}  // namespace exa::router

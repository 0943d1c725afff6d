// Names: the name service of the simulated network. It knows one name, that of the seeds; faults make it fail, or
// answer with less than the truth, for some of those who ask.
#pragma once

#include <cstdint>
#include <vector>

#include "base/endpoint.h"
#include "sim/world/time.h"

namespace exa::sim {

enum class NameFault : std::uint8_t {
    none,
    down,     // no answer
    itself,   // whoever asks gets its own address alone
    in_turn,  // one of the addresses, the next one each time
};

class Names {
  public:
    Names(std::size_t hosts, std::vector<Endpoint> seeds) : seeds_(std::move(seeds)), faults_(hosts) {}

    // For the questions of this host.
    void set(Host host, NameFault fault) { faults_[host] = fault; }
    // The host learns of nobody by the name.
    bool is_useless(Host host) const { return faults_[host] == NameFault::down || faults_[host] == NameFault::itself; }
    // What the name resolves to for `host`, whose gossip address is `own`; nothing when the look-up fails.
    std::vector<Endpoint> look_up(Host host, const Endpoint& own) {
        switch (faults_[host]) {
            case NameFault::none:
                return seeds_;
            case NameFault::down:
                return {};
            case NameFault::itself:
                return {own};
            case NameFault::in_turn:
                return {seeds_[asked_++ % seeds_.size()]};
        }
        return {};
    }

  private:
    std::vector<Endpoint> seeds_;
    std::vector<NameFault> faults_;
    std::uint64_t asked_ = 0;
};

}  // namespace exa::sim

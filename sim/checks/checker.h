// Checker: one family of invariants, checked while the world runs.
//
// Checkers know the truth and hear what every peer tells its owner; from the two follows who knew what when. None asks
// a peer for a view at every event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/checks/truth.h"
#include "sim/checks/violations.h"
#include "sim/cluster/cluster.h"

namespace exa::sim {

// What all checkers share; the owner changes the truth after they heard.
struct CheckContext {
    const Scenario& scenario;
    Cluster& cluster;
    Truth& truth;
    Violations& violations;
    Measured& measured;
    WorldTime last_heal{};     // a cut ended or a stopped peer went on
    WorldTime last_reunion{};  // a cut ended
    bool is_measuring = true;  // until the plan is over: what goes down after that is judged, not measured
};

class Checker {
  public:
    explicit Checker(CheckContext& context) : context_(context) {}
    virtual ~Checker() = default;
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    // `number` is the subject's, of which the truth still says what was before.
    virtual void on_up(WorldTime, const Peer&, std::size_t) {}
    virtual void on_down(WorldTime, const Peer&, std::size_t) {}
    virtual void on_event(WorldTime, const Peer&, std::size_t, const membership::Event&) {}
    // The same, once the truth says what the observer believes now.
    virtual void after_event(const Peer&, std::size_t, const membership::Event&) {}
    // A datagram that no member has just sent, before and after `peer` handled it.
    virtual void before_stranger(const Peer&) {}
    virtual void after_stranger(const Peer&, Origin, bool) {}
    // Looks for what is overdue, and at what is bounded.
    virtual void sweep(WorldTime) {}
    // Every peer of `core` agrees with the truth about the core and about those that are down. `why` says what is
    // missing, if anything.
    virtual bool is_settled(const std::vector<Host>&, std::string&) { return true; }

  protected:
    // `late`: the host that should have acted.
    void violate(std::string_view check, std::string what, std::optional<Host> late = std::nullopt) {
        context_.violations.add(check, std::move(what), late);
    }
    bool watches(std::string_view check) const { return context_.violations.watches(check); }

    CheckContext& context_;
};

}  // namespace exa::sim

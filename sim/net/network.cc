#include "sim/net/network.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace exa::sim {

namespace {

// A datagram waits for what is on the wire, one packet of it.
constexpr double mtu = 1500;

Duration uniform(Rng& rng, Duration least, Duration most) {
    if (most <= least) return least;
    return least +
           Duration{static_cast<Duration::rep>(rng.below(static_cast<std::uint64_t>((most - least).count()) + 1))};
}

}  // namespace

Network::Network(const NetConfig& config, std::size_t hosts, const Streams& streams)
    : config_(config),
      streams_(streams),
      latency_(streams.stream("latency")),
      loss_(streams.stream("loss")),
      duplicate_(streams.stream("duplicate")),
      corruption_(streams.stream("corruption")),
      lines_(hosts) {}

std::uint32_t Network::add(Rule rule, std::uint64_t* effects) {
    EXA_CHECK(rule.from.size() == lines_.size() && rule.to.size() == lines_.size());
    Active active{next_rule_, std::move(rule), streams_.stream("rule", next_rule_), effects, {}};
    if (active.rule.kind == RuleKind::bandwidth) active.lines.resize(lines_.size());
    rules_.push_back(std::move(active));
    return next_rule_++;
}

void Network::remove(std::uint32_t number) {
    std::erase_if(rules_, [number](const Active& active) { return active.number == number; });
}

Duration Network::latency() {
    Duration time = uniform(latency_, config_.latency_min, config_.latency_max);
    if (config_.tail > 0 && latency_.unit() < config_.tail)
        time += uniform(latency_, Duration{0}, config_.latency_tail);
    return time;
}

bool Network::queue(WorldTime now, Line& line, std::size_t bytes, double rate, TrafficClass traffic, Duration& wait,
                    WorldTime until) {
    const Duration time = duration_of(static_cast<double>(bytes) / rate);
    const bool is_datagram = traffic == TrafficClass::datagram;
    const auto own = line.begin() + static_cast<std::ptrdiff_t>(traffic);
    WorldTime start = now;
    if (wire::overtakes(TrafficClass::control, TrafficClass::data, config_.mutant)) {
        start = std::max(now, *std::max_element(line.begin(), own + 1));
        const Duration piece = duration_of((is_datagram ? mtu : static_cast<double>(config_.data_piece)) / rate);
        const WorldTime behind = *std::max_element(own, line.end());
        if (behind > start) start += std::min(behind - start, piece);
    } else {
        start = std::max(now, *std::ranges::max_element(line));
    }
    until = std::max(now, until);
    start = std::min(start, until);
    if (is_datagram && start - now > std::max(config_.queue_time, 2 * duration_of(mtu / rate))) return false;
    if (traffic < TrafficClass::data) {
        control_wait_max_ = std::max(control_wait_max_, start - now);
        const auto data = line.begin() + static_cast<std::ptrdiff_t>(TrafficClass::data);
        if (*std::max_element(data, line.end()) > now) ++control_behind_data_;
    }
    *own = start + time;
    // What overtakes others makes them later.
    for (auto other = own + 1; other != line.end(); ++other)
        if (*other > now) *other += time;
    wait += std::min(start + time, until) - now;
    return true;
}

bool Network::apply(Active& active, const Datagram& datagram, Fate::Copy& copy, std::size_t& copies) {
    const Rule& rule = active.rule;
    const auto hit = [&] {
        if (rule.chance < 1 && active.rng.unit() >= rule.chance) return false;
        ++*active.effects;
        return true;
    };
    switch (rule.kind) {
        case RuleKind::cut:
        case RuleKind::cut_udp:
            ++*active.effects;
            return false;
        case RuleKind::loss:
            if (hit()) return false;
            break;
        case RuleKind::duplicate:
            if (hit()) copies = std::min(copies + 1, Fate::copies_max);
            break;
        case RuleKind::reorder:
            if (hit()) copy.delay += uniform(active.rng, Duration{0}, rule.time);
            break;
        case RuleKind::corrupt:
            if (hit()) copy.corrupt = true;
            break;
        case RuleKind::delay:
            ++*active.effects;
            copy.delay += rule.time;
            break;
        case RuleKind::clog:
            ++*active.effects;
            if (rule.until == world_never) return false;
            copy.delay += std::max(Duration{0}, rule.until - datagram.now);
            break;
        case RuleKind::cut_link:
            break;
        case RuleKind::bandwidth: {
            if (datagram.by_outsider) break;
            const Duration before = copy.delay;
            if (!queue(datagram.now, active.lines[datagram.from], datagram.bytes, rule.rate, TrafficClass::datagram,
                       copy.delay, rule.until)) {
                ++*active.effects;
                return false;
            }
            if (copy.delay - before > std::chrono::milliseconds{1}) ++*active.effects;
            break;
        }
    }
    return true;
}

Network::Fate Network::send_datagram(WorldTime now, Host from, Host to, std::size_t bytes, bool by_outsider) {
    ++datagrams_;
    datagram_bytes_ += bytes;
    Fate fate;
    Fate::Copy first{latency(), false};
    std::size_t copies = 1;
    if (config_.bandwidth > 0 && !by_outsider &&
        !queue(now, lines_[from], bytes, config_.bandwidth, TrafficClass::datagram, first.delay))
        return fate;
    if (config_.duplicate > 0 && duplicate_.unit() < config_.duplicate) ++copies;
    const Datagram datagram{now, from, bytes, by_outsider};
    for (Active& active : rules_)
        if (applies(active.rule, from, to) && !apply(active, datagram, first, copies)) return fate;
    for (std::size_t i = 0; i < copies; ++i) {
        if (config_.loss > 0 && loss_.unit() < config_.loss) continue;
        Fate::Copy& copy = fate.copy[fate.copies++];
        copy = first;
        if (i > 0) copy.delay += latency();
    }
    return fate;
}

Network::LinkFate Network::send_link(WorldTime now, Host from, Host to, std::size_t bytes, TrafficClass traffic) {
    ++link_messages_;
    link_bytes_ += bytes;
    LinkFate fate;
    fate.delay = latency();
    // A lost segment is sent again after TCP's least timeout, which doubles.
    const auto lose = [&fate](Rng& rng, double chance, std::uint64_t* effects) {
        Duration wait = std::chrono::milliseconds{200};
        for (int i = 0; i < 8 && rng.unit() < chance; ++i) {
            if (effects != nullptr) ++*effects;
            fate.delay += wait;
            wait *= 2;
        }
    };
    if (config_.loss > 0) lose(loss_, config_.loss, nullptr);
    if (config_.bandwidth > 0) queue(now, lines_[from], bytes, config_.bandwidth, traffic, fate.delay);
    for (Active& active : rules_) {
        const Rule& rule = active.rule;
        if (!applies(rule, from, to)) continue;
        switch (rule.kind) {
            case RuleKind::cut:
            case RuleKind::cut_link:
                ++*active.effects;
                fate.passes = false;
                fate.until = rule.until;
                return fate;
            case RuleKind::loss:
                lose(active.rng, rule.chance, active.effects);
                break;
            case RuleKind::delay:
                ++*active.effects;
                fate.delay += rule.time;
                break;
            case RuleKind::clog:
                ++*active.effects;
                if (rule.until == world_never) {
                    fate.passes = false;
                    return fate;
                }
                fate.delay += std::max(Duration{0}, rule.until - now);
                break;
            case RuleKind::bandwidth:
                queue(now, active.lines[from], bytes, rule.rate, traffic, fate.delay, rule.until);
                break;
            case RuleKind::cut_udp:
            case RuleKind::duplicate:
            case RuleKind::reorder:
            case RuleKind::corrupt:
                break;
        }
    }
    return fate;
}

bool Network::reaches(Host from, Host to, bool udp) const {
    return std::ranges::none_of(rules_, [&](const Active& active) {
        const RuleKind kind = active.rule.kind;
        const bool cuts = kind == RuleKind::cut || kind == RuleKind::clog || (udp && kind == RuleKind::cut_udp);
        return cuts && applies(active.rule, from, to);
    });
}

bool Network::is_cut(Host host) const {
    return std::ranges::any_of(rules_, [host](const Active& active) {
        const RuleKind kind = active.rule.kind;
        const bool cuts =
            kind == RuleKind::cut || kind == RuleKind::clog || kind == RuleKind::cut_udp || kind == RuleKind::cut_link;
        return cuts && (active.rule.from[host] != 0 || active.rule.to[host] != 0);
    });
}

bool Network::is_held_up() const {
    return std::ranges::any_of(rules_, [](const Active& active) {
        return active.rule.kind == RuleKind::clog || active.rule.kind == RuleKind::bandwidth;
    });
}

}  // namespace exa::sim

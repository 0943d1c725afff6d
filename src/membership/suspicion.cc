#include "membership/suspicion.h"

#include <algorithm>
#include <cmath>

namespace exa::membership {

Suspicion::Suspicion(TimePoint now, PeerId accuser, const Bounds& bounds)
    : started_(now), bounds_(bounds), accusers_{accuser} {}

bool Suspicion::confirm(PeerId accuser) {
    if (accusers_.size() > bounds_.confirmations || std::ranges::find(accusers_, accuser) != accusers_.end())
        return false;
    accusers_.push_back(accuser);
    return true;
}

TimePoint Suspicion::deadline() const {
    if (bounds_.confirmations == 0) return started_ + bounds_.min;
    const double share = std::log(static_cast<double>(accusers_.size())) / std::log(1.0 + bounds_.confirmations);
    const auto shrink = static_cast<Duration::rep>(static_cast<double>((bounds_.max - bounds_.min).count()) * share);
    return started_ + std::max(bounds_.min, bounds_.max - Duration{shrink});
}

Suspicion::Bounds suspicion_bounds(const Config& config, std::size_t peers) {
    const double scale = std::max(1.0, std::log2(static_cast<double>(std::max<std::size_t>(peers, 1))) / 8.0);
    const auto scaled = [&](Duration value) {
        return Duration{static_cast<Duration::rep>(static_cast<double>(value.count()) * scale)};
    };
    const std::size_t others = peers > 2 ? peers - 2 : 0;
    return {scaled(config.suspicion_min), scaled(config.suspicion_max),
            static_cast<std::uint32_t>(std::min<std::size_t>(config.suspicion_confirmations, others))};
}

}  // namespace exa::membership

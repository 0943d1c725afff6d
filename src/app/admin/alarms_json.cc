#include "app/admin/alarms_json.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/outcome/try.hpp>

#include "openai/utf8.h"

namespace exa::app::admin {

namespace {

namespace json = boost::json;
using membership::Channel;
using openai::valid_utf8;

constexpr std::size_t command_bytes_max = 4096;

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

std::string_view name_of(membership::SeedStatus::State state) {
    switch (state) {
        case membership::SeedStatus::State::answering:
            return "answering";
        case membership::SeedStatus::State::self:
            return "self";
        case membership::SeedStatus::State::silent:
            return "silent";
        case membership::SeedStatus::State::unresolved:
            return "unresolved";
    }
    return "silent";
}

std::string_view name_of(Channel channel) {
    switch (channel) {
        case Channel::datagrams:
            return "datagrams";
        case Channel::link_to:
            return "link to it";
        case Channel::link_from:
            return "link from it";
    }
    return "datagrams";
}

bool is_broken(const membership::View& view, bool datagrams) {
    return std::ranges::any_of(view.broken, [&](const membership::BrokenChannel& broken) {
        return (broken.channel == Channel::datagrams) == datagrams;
    });
}

}  // namespace

json::value alarms_json(const membership::View& view) {
    json::array alarms;
    if (view.alarms.losses_held) alarms.emplace_back("losses_held");
    if (view.alarms.udp_blocked) alarms.emplace_back("udp_blocked");
    if (view.alarms.alone_with_seeds) alarms.emplace_back("alone_with_seeds");
    if (view.alarms.seed_silent) alarms.emplace_back("seed_silent");
    if (view.alarms.name_holder != PeerId{}) alarms.emplace_back("waits_for_name");
    if (is_broken(view, true)) alarms.emplace_back("pair_udp_blocked");
    if (is_broken(view, false)) alarms.emplace_back("pair_link_blocked");
    return alarms;
}

json::value seeds_json(TimePoint now, const std::vector<membership::SeedStatus>& seeds) {
    json::array all;
    for (const membership::SeedStatus& seed : seeds) {
        json::array addresses;
        for (const Endpoint& address : seed.addresses) addresses.emplace_back(to_string(address));
        all.push_back(json::object{{"seed", valid_utf8(seed.seed)},
                                   {"state", name_of(seed.state)},
                                   {"addresses", std::move(addresses)},
                                   {"heard_seconds", seconds(now - seed.heard)}});
    }
    return all;
}

json::value broken_channels_json(TimePoint now, const membership::View& view) {
    json::array all;
    for (const membership::BrokenChannel& broken : view.broken) {
        const membership::Member* member = view.find(broken.peer);
        all.push_back(json::object{{"peer", member != nullptr ? valid_utf8(member->record->name) : ""},
                                   {"id", to_string(broken.peer)},
                                   {"channel", name_of(broken.channel)},
                                   {"since_seconds", seconds(now - broken.since)}});
    }
    return all;
}

json::value name_holder_json(const membership::View& view) {
    const membership::Member* holder = view.find(view.alarms.name_holder);
    if (holder == nullptr) return nullptr;
    return json::object{{"name", valid_utf8(holder->record->name)},
                        {"id", to_string(holder->record->id)},
                        {"gossip", to_string(holder->record->gossip)}};
}

openai::ApiResult<bool> parse_confirm_dead(std::string_view body) {
    if (body.empty()) return false;
    BOOST_OUTCOME_TRY(const auto value, openai::parse_object(body, command_bytes_max));
    const openai::Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(const auto force, fields.boolean("force"));
    return force.value_or(false);
}

}  // namespace exa::app::admin

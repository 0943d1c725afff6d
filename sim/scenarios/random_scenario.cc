#include "sim/scenarios/random_scenario.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "sim/scenarios/scenario.h"
#include "sim/world/streams.h"

namespace exa::sim {

namespace {

constexpr double peers_min = 3;
constexpr double peers_max = 256;
constexpr double kv_peers_max = 48;

struct Ingredient {
    std::string_view kind;
    bool needs_load;
};

constexpr std::array ingredients = std::to_array<Ingredient>({
    {"crash", false},      {"crash", false},        {"leave", false},        {"pause", false},
    {"slow", false},       {"clock_jump", false},   {"drift", false},        {"cut", false},
    {"cut", false},        {"cut_udp", false},      {"loss", false},         {"duplicate", false},
    {"reorder", false},    {"delay", false},        {"clog", false},         {"bandwidth", false},
    {"disk_full", false},  {"disk_slow", false},    {"garbage", false},      {"replay", false},
    {"forge", false},      {"oversize", false},     {"load", true},          {"disconnect", true},
    {"name_steal", false}, {"disk_lies", false},    {"disk_corrupt", false}, {"corrupt", false},
    {"names_down", false}, {"names_itself", false}, {"names_turn", false},   {"cut_link", false},
});

// The liveness of peers, their clocks' wall time, lines and disks; what only gossip minds is left to the other mix.
constexpr std::array kv_ingredients =
    std::to_array<std::string_view>({"crash", "leave", "pause", "cut", "loss", "delay", "bandwidth", "disk_full",
                                     "disk_slow", "disk_lies", "disk_corrupt", "kv_rot", "kv_misdirect", "clock_jump"});

class Writer {
  public:
    explicit Writer(Rng rng) : rng_(rng) {}

    bool chance(double p) { return rng_.unit() < p; }
    std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
    double unit() { return rng_.unit(); }
    double between(double least, double most) { return least + (most - least) * rng_.unit(); }

    std::string fault(std::string_view kind, std::uint32_t peers, double duration) {
        const double at = between(12, duration * 0.5);
        const double lasts = between(1, 25);
        std::uint64_t times = kind.starts_with("key_") ? 8 : 1 + below(3);
        const std::uint64_t few = 1 + below(std::max<std::uint32_t>(1, peers / 6));
        std::string text = fmt::format("\n[[fault]]\nkind = \"{}\"\nat_s = {:.3f}\nfor_s = {:.3f}\n", kind, at, lasts);
        if (times > 1) {
            const double every = lasts + between(1, duration * 0.15);
            // What a line that stays narrow has to carry may take it longer than any bound.
            while (kind == "bandwidth" && at + every * static_cast<double>(times - 1) + lasts >= duration) --times;
            text += fmt::format("times = {}\nevery_s = {:.3f}\n", times, every);
        }
        if (kind == "loss")
            text += fmt::format("chance = {:.3f}\n", between(0.01, 0.15));
        else if (kind == "duplicate" || kind == "reorder")
            text += fmt::format("chance = {:.3f}\nms = {}\n", between(0.05, 0.5), 1 + below(200));
        else if (kind == "delay")
            text += fmt::format("count = {}\nms = {}\n", few, 1 + below(100));
        else if (kind == "slow")
            text += fmt::format("count = {}\nms = {}\n", few, 5 + below(200));
        else if (kind == "clock_jump")
            text += fmt::format("count = {}\nms = {}\n", few, 100 + below(60'000));
        else if (kind == "drift")
            text += fmt::format("count = {}\nppm = {}\n", few, static_cast<std::int64_t>(below(100'000)) - 50'000);
        else if (kind == "bandwidth")
            text += fmt::format("count = {}\nrate = {}\n", few, 20'000 + below(200'000));
        else if (kind == "garbage" || kind == "replay" || kind == "forge" || kind == "oversize")
            text += fmt::format("rate = {}\n", 10 + below(300));
        else if (kind == "corrupt")
            text += fmt::format("chance = {:.3f}\n", between(0.001, 0.05));
        else if (kind.starts_with("key_"))
            text += "count = 1\n";
        else if (kind == "load")
            text += fmt::format("rate = {:.1f}\n", between(2, 8));
        else if (kind == "disconnect")
            text += fmt::format("chance = {:.2f}\n", between(0.1, 1));
        else if (kind == "cut")
            text += fmt::format("share = {:.3f}\none_way = {}\n", between(1.0 / peers, 0.5), chance(0.25));
        else if (kind == "cut_udp" || kind == "cut_link" || kind == "disk_slow")
            text += fmt::format("count = {}\nms = {}\n", few, 1 + below(900));
        else if (kind == "disk_full" || kind == "disk_lies" || kind == "disk_corrupt")
            text += fmt::format("share = 0.5\n\n[[fault]]\nkind = \"crash\"\nat_s = {:.3f}\nfor_s = 2\nshare = 0.4\n",
                                at + lasts / 2);
        else if (kind == "kv_rot")
            text += fmt::format("share = {:.3f}\nchance = {:.3f}\n", between(0.1, 1), between(0, 0.5));
        else if (kind == "kv_misdirect")
            text += fmt::format("share = {:.3f}\n", between(0.1, 1));
        else if (kind == "name_steal")
            text += "count = 1\n";
        else if (kind == "crash" && chance(0.3))
            text += fmt::format("share = {:.3f}\nkeep_disk = {}\n", between(1.0 / peers, 0.6), chance(0.7));
        else
            text += fmt::format("count = {}\nkeep_disk = {}\n", few, chance(0.8));
        return text;
    }

    std::string net() {
        std::string text = "\n[net]\n";
        if (chance(0.3)) text += fmt::format("latency_max_us = {}\n", 1100 + below(40'000));
        if (chance(0.2)) text += fmt::format("tail = {:.3f}\n", between(0, 0.05));
        if (chance(0.3)) text += fmt::format("loss = {:.3f}\n", between(0, 0.08));
        if (chance(0.2)) text += fmt::format("duplicate = {:.3f}\n", between(0, 0.2));
        return text;
    }

    std::string load() {
        return fmt::format(
            "\n[load]\nrate = {:.1f}\nfrom_s = 10\nhot_share = {:.2f}\ndisconnects = {:.2f}\n"
            "client_errors = {:.2f}\n",
            between(5, 60), chance(0.3) ? between(0, 0.5) : 0, chance(0.3) ? between(0, 0.3) : 0,
            chance(0.3) ? between(0, 0.5) : 0);
    }

    std::string kv() {
        return fmt::format(
            "\n[kv]\nrate = {:.1f}\nfrom_s = 8\nconversations = {}\ntenants = {}\nmodels = {}\nshared = "
            "{:.2f}\nturn_segments "
            "= "
            "{}\nsegment_bytes = {}\ncapacity_segments = {}\n",
            between(1, 10), 5 + below(100), 1 + below(3), 1 + below(3), unit(), 1 + below(6), 10'000 + below(500'000),
            40 + below(3000));
    }

  private:
    Rng rng_;
};

}  // namespace

std::string random_scenario(std::uint64_t number, RandomMix mix) {
    const bool all = mix == RandomMix::all;
    Writer writer(Streams(number).stream(all ? "random scenario" : "random kv scenario"));
    // Small clusters find most and cost least: as many of 3 to 6 peers as of 128 to 256.
    const double octaves = std::log((all ? peers_max : kv_peers_max) / peers_min);
    const auto peers = static_cast<std::uint32_t>(std::lround(peers_min * std::exp(writer.between(0, octaves))));
    // A large cluster costs as much in a second as a small one in a minute.
    const bool large = peers > 64;
    const double duration = large ? writer.between(60, 150) : writer.between(120, 600);
    const bool load = writer.chance(large ? 0.15 : 0.4);
    const bool encrypted = writer.chance(0.25);
    const bool kv = writer.chance(large ? 0.1 : 0.35) || !all;
    std::string text = fmt::format(
        "about = \"Random scenario {}{}\"\nseed = {}\nduration_s = {:.3f}\n"
        "watch = [\"M1\", \"M2\", \"M3\", \"M4\", \"R1\", \"R2\", \"R3\", \"Q1\", \"Q3\", \"Q4\", \"Q5\", \"Q6\", "
        "\"B1\", \"S1\", "
        "\"S2\", \"K1\", \"K2\", \"K3\", \"K4\", \"K5\", \"K6\", \"no-false-deaths\"]\n"
        "\n[cluster]\npeers = {}\nreplicas = {}\nrack_size = {}\nstart_spread_s = {:.3f}\nmodels = {}\n"
        "encrypted = {}\nnamed_seeds = {}\n",
        number, all ? "" : " of KV", number & (std::numeric_limits<std::uint64_t>::max() >> 1), duration, peers,
        writer.below(5), 1 + writer.below(16), writer.between(0, 5), writer.chance(0.2) ? 2 : 1, encrypted,
        writer.chance(0.3));
    // In a lossy or slow network updates come late, and few observers probe seldom.
    text += fmt::format("\n[bounds]\ndetect_s = 40\nsettle_s = {}\n", kv ? 400 : 120);
    text += writer.net();
    if (load) text += writer.load();
    if (kv) text += writer.kv();
    const std::uint64_t faults = 1 + writer.below(large ? 4 : 8);
    for (std::uint64_t i = 0; i < faults;) {
        const Ingredient& one = ingredients[writer.below(ingredients.size())];
        if (!all) {
            text += writer.fault(kv_ingredients[writer.below(kv_ingredients.size())], peers, duration);
        } else if (!one.needs_load || load) {
            text += writer.fault(one.kind, peers, duration);
        } else {
            continue;
        }
        ++i;
    }
    if (all && kv && writer.chance(0.5))
        text += writer.fault(writer.chance(0.5) ? "kv_rot" : "kv_misdirect", peers, duration);
    if (!encrypted) return text;
    for (const std::string_view kind : {"key_add", "key_use", "key_remove"})
        text += writer.fault(kind, peers, duration);
    return text;
}

std::span<const std::string_view> faults_of(RandomMix mix) {
    if (mix == RandomMix::all) return fault_kinds();
    return kv_ingredients;
}

}  // namespace exa::sim

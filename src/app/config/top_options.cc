#include "app/config/option_kinds.h"
#include "app/config/options.h"

namespace exa::app::config {

std::vector<PeerOption> top_options() {
    return {
        text_option("name", "NAME", &PeerConfig::name, "Name of this peer in tables and logs; unique in the cluster.",
                    label_problem)
            .defaults_to("<host name>-<HTTP port>"),
        text_option("cluster", "NAME", &PeerConfig::cluster,
                    "Name of the cluster. A peer refuses peers of a cluster with another name.", label_problem),
        text_option("data_dir", "DIR", &PeerConfig::data_dir,
                    "Directory of this peer alone, for its id and generation. Created if missing.")
            .defaults_to("$XDG_STATE_HOME/exaserve/<HTTP port>"),
        text_option("region", "LABEL", &PeerConfig::region, "Coarse location of the peer.", label_problem),
        text_option("rack", "LABEL", &PeerConfig::rack,
                    "Failure domain: peers of one rack share a switch or a power feed.", label_problem),
        list_option(
            "seeds", "HOST:PORT", &PeerConfig::seeds, 64,
            "Gossip addresses of peers to join through. One that answers is enough; the peer keeps asking all of "
            "them. Host names are looked up again and again. The first peer of a cluster needs none, or sets 'first'.",
            seed_problem),
        flag("first", &PeerConfig::first,
             "This peer founds the cluster if its data directory remembers no members. Without it a peer with seeds "
             "asks "
             "them until it has met another peer. It can stay set: a restarted peer asks the members that it knows."),
        text_option("root_secret_file", "FILE", &PeerConfig::root_secret_file,
                    "File with the cluster's root secret (32 or more random bytes, the same on every peer), which "
                    "protects session tokens.")
            .defaults_to("derived from the cluster's name, which is good enough on one machine only"),
        duration("drain_seconds", &PeerConfig::drain_time, std::chrono::seconds(1), std::chrono::seconds(3600),
                 "How long a leaving peer lets running answers finish before it ends them.")
            .live(),
    };
}

std::vector<Option<io::log::LogConfig>> log_options() {
    using enum LogLevel;
    return {
        choice("level", "LEVEL", &io::log::LogConfig::level,
               {{"debug", debug}, {"info", info}, {"warn", warn}, {"error", LogLevel::error}},
               "Lowest level that is logged.")
            .live(),
        choice("format", "FORMAT", &io::log::LogConfig::format,
               {{"text", io::log::LogFormat::text}, {"json", io::log::LogFormat::json}},
               "Form of the log: lines of text, or one JSON object a line."),
    };
}

}  // namespace exa::app::config

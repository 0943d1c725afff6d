#include "app/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "io/resp/server.h"

namespace exa::app {

namespace {

// Links to and from other peers, the store's files, logs, event loops.
constexpr std::uint64_t own_files = 512;

}  // namespace

std::uint64_t raise_open_files_limit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return RLIM_INFINITY;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

std::uint64_t open_files_needed(const config::PeerConfig& peer) {
    const std::uint64_t http = std::uint64_t{peer.http.threads} * peer.http_server.connections_max;
    const std::uint64_t resp = peer.kv.resp_listen.empty() ? 0 : io::resp::RespConfig{}.connections_max;
    return http + resp + own_files;
}

std::string open_files_problem(const config::PeerConfig& peer, std::uint64_t limit) {
    const std::uint64_t needed = open_files_needed(peer);
    if (limit >= needed) return {};
    return fmt::format(
        "this process may open {} files, and {} threads with {} connections each may need {}: at the limit new "
        "connections wait; raise it (LimitNOFILE of a unit, ulimit -Hn), or lower http.connections",
        limit, peer.http.threads, peer.http_server.connections_max, needed);
}

}  // namespace exa::app

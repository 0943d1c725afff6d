// Disk: the few files of one simulated host, with what disks do wrong. A write is in memory until sync() says
// otherwise; a crash keeps what was synced and, of what was not, nothing, all or a torn front.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/time.h"

namespace exa::sim {

struct DiskFaults {
    bool full = false;        // writes fail
    bool lies = false;        // sync says done and has done nothing
    bool corrupt = false;     // a read flips a bit
    Duration sync_time{100};  // how long a sync takes
};

struct DiskEffects {
    std::uint64_t writes_refused = 0;
    std::uint64_t syncs_ignored = 0;
    std::uint64_t writes_lost = 0;
    std::uint64_t writes_torn = 0;
    std::uint64_t reads_corrupted = 0;
};

class Disk {
  public:
    explicit Disk(Rng rng) : rng_(rng) {}

    DiskFaults& faults() { return faults_; }
    const DiskEffects& effects() const { return effects_; }

    // Replaces the file. False: the disk is full and the file is as it was.
    bool write(const std::string& name, Bytes content);
    // Of what is stored on it beside files: false as write() is.
    bool takes_writes();
    // Makes all writes so far survive a crash; returns how long that takes.
    Duration sync();
    // What a reader sees now; nothing when there is no such file.
    std::optional<Bytes> read(const std::string& name);

    void crash();
    // Another disk in its place.
    void wipe();

  private:
    Rng rng_;
    DiskFaults faults_;
    DiskEffects effects_;
    std::map<std::string, Bytes> durable_;
    std::map<std::string, Bytes> unsynced_;
};

}  // namespace exa::sim

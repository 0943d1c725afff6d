#include "io/cold/cold_files.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "store_support.h"
#include "support/print.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::cold;
using namespace exa::io::test;

namespace {

namespace fs = std::filesystem;

struct Fixture {
    TemporaryDirectory directory;
    std::unique_ptr<ColdFiles> files = cold_files(directory.path());

    fs::path folder_of(std::uint64_t n) const {
        return directory.path() / "kv1" / kv::to_string(key_of(n)).substr(0, 3);
    }
    fs::path path_of(std::uint64_t n) const { return folder_of(n) / kv::to_string(key_of(n)); }
    ColdOutcome publish(std::uint64_t n, std::size_t payload = 100'000) {
        return files->publish(key_of(n), segment(n, payload)->view(), false).outcome;
    }
    ColdOutcome read(std::uint64_t n) {
        std::shared_ptr<kv::SegmentBuffer> found;
        const ColdOutcome outcome = files->read(key_of(n), found).outcome;
        if (outcome == ColdOutcome::ok) last = found;
        return outcome;
    }
    ColdOutcome size(std::uint64_t n) {
        std::uint64_t bytes = 0;
        return files->size(key_of(n), bytes).outcome;
    }
    std::vector<kv::ColdFile> list(std::uint64_t n) {
        std::vector<kv::ColdFile> found;
        files->list(kv::cold_folder(key_of(n)), found);
        return found;
    }
    kv::SealedSegment last;
};

std::size_t files_below(const fs::path& directory) {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) count += entry.is_regular_file() ? 1 : 0;
    return count;
}

void write_file(const fs::path& path, std::string_view bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

// A process that runs `work` and ends without a word.
pid_t child(const std::function<void()>& work) {
    const pid_t pid = ::fork();
    BOOST_TEST_REQUIRE(pid >= 0);
    if (pid == 0) {
        work();
        ::_exit(0);
    }
    return pid;
}

int wait_for(pid_t pid) {
    int status = 0;
    BOOST_TEST_REQUIRE(::waitpid(pid, &status, 0) == pid);
    return status;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cold_files_)

BOOST_AUTO_TEST_CASE(what_is_published_is_read_byte_for_byte_and_published_once) {
    for (const bool durably : {false, true}) {
        Fixture f;
        BOOST_TEST(f.size(1) == ColdOutcome::missing);
        BOOST_TEST(f.read(1) == ColdOutcome::missing);
        BOOST_TEST(f.files->publish(key_of(1), segment(1)->view(), durably).outcome == ColdOutcome::ok);
        BOOST_TEST(f.publish(1) == ColdOutcome::present);
        std::uint64_t bytes = 0;
        BOOST_TEST(f.files->size(key_of(1), bytes).outcome == ColdOutcome::ok);
        BOOST_TEST(bytes == segment(1)->size());
        BOOST_TEST(f.read(1) == ColdOutcome::ok);
        BOOST_TEST(equal(f.last, segment(1)));
        BOOST_TEST(files_below(f.directory.path()) == 1U);
        BOOST_TEST(fs::exists(f.path_of(1)));
    }
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_is_never_made) {
    const TemporaryDirectory directory;
    const auto files = cold_files(directory.path() / "not mounted");
    const ColdResult result = files->publish(key_of(1), segment(1)->view(), false);
    BOOST_TEST(result.outcome == ColdOutcome::failed);
    BOOST_TEST(result.code == ENOENT);
    BOOST_TEST(!fs::exists(directory.path() / "not mounted"));
    std::shared_ptr<kv::SegmentBuffer> found;
    BOOST_TEST(files->read(key_of(1), found).outcome == ColdOutcome::missing);
    std::vector<kv::ColdFile> listed;
    BOOST_TEST(files->list(0, listed).outcome == ColdOutcome::missing);
}

BOOST_AUTO_TEST_CASE(a_listing_has_segments_and_what_was_never_finished_and_nothing_else) {
    Fixture f;
    f.publish(1);
    write_file(f.folder_of(1) / ".new-0123456789abcdef", "half");
    write_file(f.folder_of(1) / "README", "not ours");
    write_file(f.folder_of(1) / (std::string(63, 'a') + "G"), "no key");
    const auto found = f.list(1);
    BOOST_TEST_REQUIRE(found.size() == 2U);
    for (const kv::ColdFile& file : found) {
        if (file.key) {
            BOOST_TEST(*file.key == key_of(1));
            BOOST_TEST(file.bytes >= segment(1)->size());
            BOOST_TEST(std::abs(file.used_s - ::time(nullptr)) < 100);
        } else {
            BOOST_TEST(file.name == ".new-0123456789abcdef");
        }
        BOOST_TEST(f.files->remove(kv::cold_folder(key_of(1)), file.name).outcome == ColdOutcome::ok);
    }
    BOOST_TEST(f.list(1).empty());
    BOOST_TEST(fs::exists(f.folder_of(1) / "README"));
    BOOST_TEST(f.files->remove(key_of(1)).outcome == ColdOutcome::missing);
}

BOOST_AUTO_TEST_CASE(what_was_not_used_for_long_is_marked_as_used_by_a_read) {
    Fixture f;
    f.publish(1);
    const auto set_age = [&](std::int64_t seconds) {
        const timespec time{.tv_sec = ::time(nullptr) - seconds, .tv_nsec = 0};
        const timespec times[2] = {time, time};
        BOOST_TEST_REQUIRE(::utimensat(AT_FDCWD, f.path_of(1).c_str(), times, 0) == 0);
    };
    set_age(1000);
    f.read(1);
    BOOST_TEST(::time(nullptr) - f.list(1).front().used_s >= 1000);
    set_age(5000);
    f.read(1);
    BOOST_TEST(::time(nullptr) - f.list(1).front().used_s < 1000);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_of_a_segments_size_is_bad_and_can_be_removed) {
    Fixture f;
    const auto is_bad = [&](std::uint64_t n) {
        BOOST_TEST(f.size(n) == ColdOutcome::bad);
        BOOST_TEST(f.read(n) == ColdOutcome::bad);
        // Nothing is written through it, or in its place.
        BOOST_TEST(f.publish(n) == ColdOutcome::present);
        BOOST_TEST(f.files->remove(key_of(n)).outcome == ColdOutcome::ok);
        BOOST_TEST(f.publish(n) == ColdOutcome::ok);
        BOOST_TEST(f.read(n) == ColdOutcome::ok);
    };
    fs::create_directories(f.path_of(1));
    is_bad(1);
    write_file(f.directory.path() / "elsewhere", std::string(100'000, 'x'));
    fs::create_directories(f.folder_of(2));
    fs::create_symlink(f.directory.path() / "elsewhere", f.path_of(2));
    is_bad(2);
    BOOST_TEST(fs::file_size(f.directory.path() / "elsewhere") == 100'000U);
    fs::create_directories(f.folder_of(3));
    BOOST_TEST_REQUIRE(::mkfifo(f.path_of(3).c_str(), 0600) == 0);
    is_bad(3);
    write_file(f.path_of(4), "");
    is_bad(4);
    write_file(f.path_of(5), std::string(kv::segment_header_size - 1, 'x'));
    is_bad(5);
    // Sparse: nobody makes room for it.
    write_file(f.path_of(6), "x");
    fs::resize_file(f.path_of(6), 1ull << 40);
    is_bad(6);
    fs::create_directories(f.folder_of(7));
    fs::create_symlink("nowhere", f.path_of(7));
    is_bad(7);
}

BOOST_AUTO_TEST_CASE(a_directory_with_something_in_it_stays) {
    Fixture f;
    write_file(f.path_of(1) / "somebody's", "work");
    BOOST_TEST(f.read(1) == ColdOutcome::bad);
    BOOST_TEST(f.files->remove(key_of(1)).outcome == ColdOutcome::bad);
    BOOST_TEST(fs::exists(f.path_of(1) / "somebody's"));
}

BOOST_AUTO_TEST_CASE(a_folder_is_followed_through_no_symbolic_link) {
    Fixture f;
    const TemporaryDirectory other;
    fs::create_directories(f.directory.path() / "kv1");
    fs::create_directory_symlink(other.path(), f.folder_of(1));
    write_file(other.path() / kv::to_string(key_of(1)), "x");
    BOOST_TEST(f.publish(1) != ColdOutcome::ok);
    BOOST_TEST(f.read(1) != ColdOutcome::ok);
    BOOST_TEST(f.files->remove(key_of(1)).outcome != ColdOutcome::ok);
    BOOST_TEST(files_below(other.path()) == 1U);
}

BOOST_AUTO_TEST_CASE(processes_that_publish_the_same_segments_leave_each_once_and_readers_see_whole_ones_only) {
    Fixture f;
    constexpr std::uint64_t count = 60;
    std::vector<pid_t> writers;
    for (int i = 0; i < 3; ++i)
        writers.push_back(child([&] {
            for (std::uint64_t n = 0; n < count; ++n) {
                const ColdOutcome outcome = f.publish(n, 300'000);
                if (outcome != ColdOutcome::ok && outcome != ColdOutcome::present) ::_exit(1);
            }
        }));
    std::set<std::uint64_t> seen;
    while (seen.size() < count) {
        for (std::uint64_t n = 0; n < count; ++n) {
            const ColdOutcome outcome = f.read(n);
            if (outcome == ColdOutcome::missing) break;
            BOOST_TEST_REQUIRE(outcome == ColdOutcome::ok);
            BOOST_REQUIRE(sealer.verify(key_of(n), f.last->view()).has_value());
            seen.insert(n);
        }
    }
    for (const pid_t writer : writers) BOOST_TEST(wait_for(writer) == 0);
    BOOST_TEST(files_below(f.directory.path()) == count);
}

BOOST_AUTO_TEST_CASE(a_killed_writer_leaves_whole_segments_and_leftovers_that_listings_name) {
    Fixture f;
    std::vector<kv::SealedSegment> segments;
    for (std::uint64_t n = 0; n < 4; ++n) segments.push_back(segment(n, 8'000'000));
    std::size_t whole = 0;
    std::size_t leftovers = 0;
    // On a busy machine a life may be over before it has written anything.
    for (useconds_t life = 0; life < 60 || (life < 2000 && (whole == 0 || leftovers == 0)); ++life) {
        const pid_t writer = child([&] {
            for (;;) {
                for (std::uint64_t n = 0; n < segments.size(); ++n)
                    f.files->publish(key_of(n), segments[n]->view(), false);
                for (std::uint64_t n = 0; n < segments.size(); ++n) f.files->remove(key_of(n));
            }
        });
        ::usleep(3000 + life * 271 % 20'000);
        ::kill(writer, SIGKILL);
        BOOST_TEST(WIFSIGNALED(wait_for(writer)));
        for (std::uint64_t n = 0; n < segments.size(); ++n) {
            for (const kv::ColdFile& file : f.list(n)) leftovers += file.key ? 0 : 1;
            if (f.read(n) == ColdOutcome::missing) continue;
            BOOST_REQUIRE(equal(f.last, segments[n]));
            ++whole;
        }
    }
    BOOST_TEST(whole > 0U);
    BOOST_TEST(leftovers > 0U);
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_not_there_or_is_none_is_said_to_be_that) {
    const TemporaryDirectory directory;
    BOOST_TEST(cold_files(directory.path())->check().outcome == ColdOutcome::ok);
    const ColdResult missing = cold_files(directory.path() / "missing")->check();
    BOOST_TEST(missing.outcome == ColdOutcome::failed);
    BOOST_TEST(missing.code == ENOENT);
    std::ofstream(directory.path() / "file") << "x";
    BOOST_TEST(cold_files(directory.path() / "file")->check().code == ENOTDIR);
}

BOOST_AUTO_TEST_CASE(a_full_file_system_says_so_and_keeps_nothing_of_what_did_not_fit) {
    const TemporaryDirectory directory;
    if (::mount("none", directory.path().c_str(), "tmpfs", 0, "size=2m") != 0) {
        BOOST_TEST_MESSAGE("skipped: no file system can be mounted here");
        return;
    }
    {
        const auto files = cold_files(directory.path());
        std::uint64_t n = 0;
        while (files->publish(key_of(n), segment(n, 300'000)->view(), false).outcome == ColdOutcome::ok) ++n;
        BOOST_TEST(n > 3U);
        const ColdResult result = files->publish(key_of(n), segment(n, 300'000)->view(), false);
        BOOST_TEST(result.outcome == ColdOutcome::full);
        BOOST_TEST(result.code == ENOSPC);
        BOOST_TEST(files_below(directory.path()) == n);
        std::shared_ptr<kv::SegmentBuffer> found;
        BOOST_TEST(files->read(key_of(0), found).outcome == ColdOutcome::ok);
        files->remove(key_of(0));
        BOOST_TEST(files->publish(key_of(n), segment(n, 300'000)->view(), false).outcome == ColdOutcome::ok);
    }
    BOOST_TEST(::umount(directory.path().c_str()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

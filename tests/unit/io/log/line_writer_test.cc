#include "io/log/line_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "io/errc.h"
#include "scratch.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::log;
using exa::test::Scratch;

namespace {

// A reader that reads nothing until it is told to.
class StuckReader {
  public:
    explicit StuckReader(std::string path) : path_(std::move(path)) {
        BOOST_TEST_REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
        reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        BOOST_TEST_REQUIRE(reader_ >= 0);
    }
    StuckReader(const StuckReader&) = delete;
    StuckReader& operator=(const StuckReader&) = delete;
    ~StuckReader() { ::close(reader_); }

    const std::string& path() const { return path_; }
    // Reads until `mark` has come, or the end.
    std::string read_until(std::string_view mark) const {
        std::string text;
        std::array<char, 65536> bytes{};
        while (text.find(mark) == std::string::npos) {
            const ssize_t size = ::read(reader_, bytes.data(), bytes.size());
            if (size == 0) break;
            if (size < 0)
                std::this_thread::yield();
            else
                text.append(bytes.data(), static_cast<std::size_t>(size));
        }
        return text;
    }

  private:
    std::string path_;
    int reader_ = -1;
};

LineWriterOptions small(std::size_t waiting_bytes) {
    LineWriterOptions options;
    options.waiting_bytes_max = waiting_bytes;
    options.dropped_notice = dropped_text;
    options.end_timeout = std::chrono::milliseconds(50);
    return options;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(line_writer)

BOOST_AUTO_TEST_CASE(a_count_of_dropped_lines_reads_well) {
    BOOST_TEST(dropped_text(1) == "1 line dropped");
    BOOST_TEST(dropped_text(999) == "999 lines dropped");
    BOOST_TEST(dropped_text(1'234) == "1,234 lines dropped");
    BOOST_TEST(dropped_text(1'234'567) == "1,234,567 lines dropped");
}

BOOST_AUTO_TEST_CASE(a_reader_that_stands_still_stops_nobody_and_learns_how_much_it_missed) {
    const Scratch scratch;
    const StuckReader reader(scratch.path / "fifo");
    auto writer = LineWriter::open(reader.path(), small(1 << 20)).value();
    const std::string line(99, 'x');
    // More than the pipe, what is being written and what waits: each would have to wait for the reader.
    for (int i = 0; i < 100'000; ++i) writer->write(line);
    const std::uint64_t dropped = writer->dropped();
    BOOST_TEST(dropped > 50'000U);
    const std::string text = reader.read_until("dropped\n");
    BOOST_TEST(text.ends_with("\n" + dropped_text(dropped) + "\n"));
    BOOST_TEST(text.size() == (100'000 - dropped) * 100 + dropped_text(dropped).size() + 1);
    writer->write("after");
    BOOST_TEST(reader.read_until("after\n") == "after\n");
}

BOOST_AUTO_TEST_CASE(its_end_does_not_wait_for_a_reader_that_stands_still) {
    const Scratch scratch;
    const StuckReader reader(scratch.path / "fifo");
    auto writer = LineWriter::open(reader.path(), small(1 << 20)).value();
    for (int i = 0; i < 10'000; ++i) writer->write(std::string(99, 'x'));
    writer.reset();
    // The thread, which is left alone with the rest, ends when there is a reader again.
    BOOST_TEST(reader.read_until("dropped\n").size() == 1'000'000U);
}

BOOST_AUTO_TEST_CASE(lines_that_cannot_be_written_are_counted) {
    const auto writer = LineWriter::open("/dev/full", {}).value();
    writer->write("lost");
    while (writer->dropped() == 0) std::this_thread::yield();
    BOOST_TEST(writer->dropped() == 1U);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_opened_again_is_named_and_the_old_one_goes_on) {
    const Scratch scratch;
    std::filesystem::create_directory(scratch.path / "in");
    const auto writer = LineWriter::open(scratch.path / "in/log", {}).value();
    std::filesystem::rename(scratch.path / "in", scratch.path / "moved");
    writer->reopen();
    std::optional<Error> failure;
    while (!failure) failure = writer->take_failure();
    BOOST_TEST(failure->detail.find("in/log") != std::string::npos);
    BOOST_TEST(!writer->take_failure().has_value());
    writer->write("still");
    while (std::filesystem::file_size(scratch.path / "moved/log") == 0) std::this_thread::yield();
    BOOST_TEST(writer->dropped() == 0U);
}

BOOST_AUTO_TEST_CASE(a_fifo_without_a_reader_is_an_error_and_not_a_wait) {
    const Scratch scratch;
    BOOST_TEST_REQUIRE(::mkfifo((scratch.path / "fifo").c_str(), 0600) == 0);
    const auto writer = LineWriter::open(scratch.path / "fifo", {});
    BOOST_TEST_REQUIRE(!writer.has_value());
    BOOST_TEST(writer.error().code == make_error_code(errc::system));
}

BOOST_AUTO_TEST_SUITE_END()

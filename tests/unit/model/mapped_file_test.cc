#include "model/mapped_file.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>
#include <utility>

#include "model/errc.h"
#include "support/print.h"

namespace {

using exa::model::MappedFile;

// A file of its own that is gone at the end of the test.
class TemporaryFile {
  public:
    explicit TemporaryFile(std::string_view content) {
        const int fd = ::mkstemp(path_.data());
        BOOST_TEST_REQUIRE(fd >= 0);
        BOOST_TEST_REQUIRE(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
        ::close(fd);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { ::unlink(path_.c_str()); }

    const std::string& path() const { return path_; }

  private:
    std::string path_ =
        (std::getenv("TMPDIR") != nullptr ? std::string(std::getenv("TMPDIR")) : P_tmpdir) + "/exa_mapped_file_XXXXXX";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(mapped_file)

BOOST_AUTO_TEST_CASE(bytes_are_the_files_and_survive_a_move_and_an_unlink) {
    std::string content = "some bytes";
    content.push_back('\0');
    auto file = [&] {
        const TemporaryFile temporary(content);
        return MappedFile::open(temporary.path());
    }();
    BOOST_REQUIRE(file.has_value());
    MappedFile moved = std::move(file.value());
    BOOST_TEST(exa::as_text(moved.bytes()) == content);
    BOOST_TEST(file.value().bytes().empty());
}

BOOST_AUTO_TEST_CASE(an_empty_file_maps_to_no_bytes) {
    const TemporaryFile temporary("");
    const auto file = MappedFile::open(temporary.path());
    BOOST_REQUIRE(file.has_value());
    BOOST_TEST(file.value().bytes().empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_named_with_the_reason) {
    const auto missing = MappedFile::open("/no/such/model.gguf");
    BOOST_REQUIRE(missing.has_error());
    BOOST_TEST(missing.error().code == exa::model::errc::file_unreadable);
    BOOST_TEST(missing.error().detail == "/no/such/model.gguf: No such file or directory");
    const auto folder = MappedFile::open("/");
    BOOST_REQUIRE(folder.has_error());
    BOOST_TEST(folder.error().detail == "/: not a regular file");
}

BOOST_AUTO_TEST_SUITE_END()

#include "support/print.h"
#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>
#include <vector>
#include "base/ids.h"

namespace exa::test {
namespace {

enum class Color : std::uint8_t { red, green = 5, blue };

struct Point {
    int x = 0;
    std::optional<Color> color;
    std::vector<std::string> names;
    bool operator==(const Point&) const = default;
};

class Private {
  public:
    explicit Private(int value) : value_(value) {}
    bool operator==(const Private&) const = default;

  private:
    int value_;
};

template <class T>
std::string shown(const T& value) {
    std::ostringstream out;
    out << boost::test_tools::tt_detail::print_helper(value);
    return out.str();
}

BOOST_AUTO_TEST_SUITE(print)

BOOST_AUTO_TEST_CASE(ids_print_as_text_or_by_their_value) {
    BOOST_TEST(shown(PeerId{0x1f}) == "000000000000001f");
    BOOST_TEST(shown(ReplicaId{{1}, {2}, 3}) == "0000000000000001.0000000000000002.3");
    BOOST_TEST(shown(Incarnation{7}) == "Incarnation{7}");
}

BOOST_AUTO_TEST_CASE(enumerators_print_by_name_and_other_values_by_number) {
    BOOST_TEST(shown(Color::green) == "green");
    BOOST_TEST(shown(Color::blue) == "blue");
    BOOST_TEST(shown(static_cast<Color>(3)) == "Color(3)");
}

BOOST_AUTO_TEST_CASE(times_print_with_their_unit) {
    BOOST_TEST(shown(std::chrono::milliseconds(12)) == "12ms");
    BOOST_TEST(shown(Duration(3)) == "3\u00b5s");
    BOOST_TEST(shown(std::chrono::minutes(2)) == "2min");
    BOOST_TEST(shown(TimePoint(Duration(5))) == "5\u00b5s");
    BOOST_TEST(shown(time_never) == "never");
    BOOST_TEST(shown(WallTime{9}) == "WallTime{9}");
}

BOOST_AUTO_TEST_CASE(results_print_their_value_or_their_error) {
    BOOST_TEST(shown(Result<int>(4)) == "4");
    BOOST_TEST(shown(Result<void>(success())) == "success");
    const Error lost{std::make_error_code(std::errc::timed_out), "fetch"};
    BOOST_TEST(shown(Result<Color>(lost)) == "error: fetch: " + lost.code.message());
}

BOOST_AUTO_TEST_CASE(containers_and_aggregates_print_their_parts) {
    BOOST_TEST(shown(std::vector<Color>{Color::red, Color::blue}) == "{red, blue}");
    BOOST_TEST(shown(std::map<int, bool>{{1, true}}) == "{{1, true}}");
    BOOST_TEST(shown(Point{1, Color::red, {"a"}}) == "Point{1, red, {\"a\"}}");
    BOOST_TEST(shown(Point{1, {}, {}}) == "Point{1, nullopt, {}}");
    BOOST_TEST(shown(std::variant<int, Color>(Color::green)) == "green");
    BOOST_TEST(shown(std::vector<std::uint8_t>{1, 255}) == "{1, 255}");
}

BOOST_AUTO_TEST_CASE(long_containers_end_in_an_ellipsis) {
    const std::string text = shown(std::vector<PeerId>(1000));
    BOOST_TEST(text.ends_with(", ...}"));
    BOOST_TEST(text.size() < 2000);
}

BOOST_AUTO_TEST_CASE(what_shows_nothing_of_itself_prints_its_type) {
    BOOST_TEST(shown(Private(1)) == "(Private)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace exa::test

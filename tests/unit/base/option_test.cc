#include "base/option.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace exa;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

enum class Color { red, green, blue };

struct Paint {
    std::uint32_t layers = 2;
    std::chrono::microseconds dry_time = milliseconds(1500);
    double gloss = 0.5;
    bool is_wet = true;
    Color color = Color::green;
};

struct House {
    Paint door;
    Paint wall;
};

Option<Paint> layers() {
    return whole_number("layers", "N", "", &Paint::layers, 2, 64, "Layers of paint.", 2);
}

Option<Paint> dry_time() {
    return duration("dry_ms", &Paint::dry_time, milliseconds(10), seconds(60), "Time to dry.");
}

Option<Paint> color() {
    return choice("color", "COLOR", &Paint::color,
                  {{"red", Color::red}, {"green", Color::green}, {"blue", Color::blue}}, "Color of the paint.");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(option)

BOOST_AUTO_TEST_CASE(a_number_outside_its_range_or_step_is_refused_and_changes_nothing) {
    Paint paint;
    for (const char* text : {"1", "66", "3", "", "4x", "-2", "4.0", "99999999999999999999"}) {
        BOOST_TEST(layers().set(paint, text) == "'" + std::string(text) + "' is not a multiple of 2 from 2 to 64");
        BOOST_TEST(paint.layers == 2U);
    }
    BOOST_TEST(layers().set(paint, "64") == "");
    BOOST_TEST(layers().get(paint) == "64");
}

BOOST_AUTO_TEST_CASE(a_duration_is_written_in_the_unit_of_its_range) {
    Paint paint;
    BOOST_TEST(dry_time().get(paint) == "1500");
    BOOST_TEST(dry_time().set(paint, "60000") == "");
    BOOST_TEST(paint.dry_time == seconds(60));
    BOOST_TEST(dry_time().set(paint, "60001") == "'60001' is not a whole number from 10 to 60000");
    BOOST_TEST(dry_time().unit == "milliseconds");
}

BOOST_AUTO_TEST_CASE(a_decimal_keeps_its_digits_and_nan_is_no_number) {
    const auto gloss = decimal("gloss", &Paint::gloss, 0, 1, "Gloss.");
    Paint paint;
    BOOST_TEST(gloss.set(paint, "0.1") == "");
    BOOST_TEST(gloss.get(paint) == "0.1");
    BOOST_TEST(gloss.set(paint, "nan") == "'nan' is not a number from 0 to 1");
    BOOST_TEST(gloss.set(paint, "1.01") == "'1.01' is not a number from 0 to 1");
}

BOOST_AUTO_TEST_CASE(flags_and_choices_take_their_words_only) {
    const auto wet = flag("wet", &Paint::is_wet, "Whether it is wet.");
    Paint paint;
    BOOST_TEST(wet.set(paint, "yes") == "'yes' is not true or false");
    BOOST_TEST(wet.set(paint, "false") == "");
    BOOST_TEST(!paint.is_wet);
    BOOST_TEST(color().set(paint, "Red") == "'Red' is not red, green or blue");
    BOOST_TEST(color().set(paint, "blue") == "");
    BOOST_TEST(color().get(paint) == "blue");
}

BOOST_AUTO_TEST_CASE(a_description_tells_meaning_unit_range_default_and_whether_it_is_live) {
    BOOST_TEST(describe(dry_time().live()) ==
               "Time to dry. Milliseconds, 10 to 60000. Default: 1500. Can change live.");
    BOOST_TEST(describe(layers()) == "Layers of paint. Range: 2 to 64, a multiple of 2. Default: 2.");
    BOOST_TEST(describe(color().defaults_to("that of the wall")) ==
               "Color of the paint. Range: red, green or blue. Default: that of the wall.");
}

BOOST_AUTO_TEST_CASE(options_of_a_part_are_named_after_its_table_and_touch_it_alone) {
    std::vector<Option<House>> all;
    append_table(all, "door", &House::door, {layers()});
    append_table(all, "wall", &House::wall, {layers(), color().live()});
    BOOST_TEST_REQUIRE(all.size() == 3U);
    House house;
    BOOST_TEST(all[1].name == "wall.layers");
    BOOST_TEST(all[1].set(house, "4") == "");
    BOOST_TEST(house.wall.layers == 4U);
    BOOST_TEST(house.door.layers == 2U);
    BOOST_TEST(all[2].is_live);
    BOOST_TEST(!all[0].is_live);
}

BOOST_AUTO_TEST_CASE(a_value_that_did_not_come_from_text_is_checked_by_the_same_ranges) {
    const std::vector<Option<Paint>> options = {layers(), dry_time()};
    BOOST_TEST(find_out_of_range(options, Paint{}) == "");
    Paint paint;
    paint.dry_time = milliseconds(5);
    BOOST_TEST(find_out_of_range(options, paint) == "dry_ms: '5' is not a whole number from 10 to 60000");
}

BOOST_AUTO_TEST_SUITE_END()

/* LINK: csv
 * Comma-separated text of every shape that spreadsheets write, and what is refused with its place.
 */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/csv/csv.h"
#include "tests/unit/check.h"

static char path[] = "/tmp/lockstep_csv_XXXXXX";
static Csv csv;

static void write_file(const char *text, size_t bytes) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(text, 1, bytes, file) != bytes) abort();
  fclose(file);
}

static void append(char *out, size_t size, const char *text) {
  (void)snprintf(out + strlen(out), size - strlen(out), "%s", text);
}

/* All records, fields as <field>, a record a line. */
static const char *read_all(const char *text, size_t bytes) {
  static char out[512];
  out[0] = 0;
  write_file(text, bytes);
  CsvResult result = csv_open(&csv, path) ? CSV_RECORD : CSV_BAD;
  while (result == CSV_RECORD) {
    for (int32_t i = 0; i < csv.field_count; i++) {
      append(out, sizeof out, "<");
      append(out, sizeof out, csv_field(&csv, i));
      append(out, sizeof out, ">");
    }
    append(out, sizeof out, "\n");
    result = csv_next(&csv);
  }
  if (result == CSV_BAD) (void)snprintf(out, sizeof out, "%s", csv.why + strlen(path));
  csv_close(&csv);
  return out;
}

#define READ(text) read_all(text, sizeof(text) - 1)

static void test_shapes(void) {
  TEST("fields, blanks around them, and every kind of line end") {
    CHECK_TEXT(READ("a,b\n1,2\n"), "<a><b>\n<1><2>\n");
    CHECK_TEXT(READ("a,b\r\n1,2\r\n"), "<a><b>\n<1><2>\n");
    CHECK_TEXT(READ("a,b\r1,2\r"), "<a><b>\n<1><2>\n");
    CHECK_TEXT(READ(" a ,\tb b\t\n\n  \n1 ,  2"), "<a><b b>\n<1><2>\n");
    CHECK_TEXT(READ("a,b\n,\n"), "<a><b>\n<><>\n");
  }
  TEST("quotes around commas, line ends, quotes and blanks") {
    CHECK_TEXT(READ("\"a, m2\",b\n\"1\", \"2\" \n"), "<a, m2><b>\n<1><2>\n");
    CHECK_TEXT(READ("\"say \"\"a\"\"\",\" b \"\n1,2\n"), "<say \"a\">< b >\n<1><2>\n");
    CHECK_TEXT(READ("a,b\n\"1\r\n2\",3\n4,5\n"), "<a><b>\n<1\n2><3>\n<4><5>\n");
    CHECK_TEXT(READ("a\n\"\"\n"), "<a>\n<>\n");
    CHECK_TEXT(READ("a,b\n5\",6\n"), "<a><b>\n<5\"><6>\n");
  }
  TEST("a byte-order mark is read over") {
    CHECK_TEXT(READ("\xef\xbb\xbf"
                    "a,b\n1,2\n"),
               "<a><b>\n<1><2>\n");
    CHECK_TEXT(READ("\xef\xbb\xbf\"a\",b\n1,2\n"), "<a><b>\n<1><2>\n");
  }
}

static void test_refused(void) {
  TEST("what cannot be a table is refused at its line") {
    CHECK_TEXT(READ(""), ": is empty; its first line names the columns");
    CHECK_TEXT(READ("\xef\xbb\xbf"), ": is empty; its first line names the columns");
    CHECK_TEXT(READ("\n \n"), ": is empty; its first line names the columns");
    CHECK_TEXT(READ("\xff\xfe"
                    "a\0"),
               ": is not UTF-8 text (UTF-16?): save it as UTF-8");
    CHECK_TEXT(READ("a,b\n1,2,3\n"), ":2: 3 fields, but the header names 2 columns; put quotes "
                                     "around a value with a comma; the decimal sign is a point");
    CHECK_TEXT(READ("a\n1,5\n"), ":2: 2 fields, but the header names 1 column; put quotes "
                                 "around a value with a comma; the decimal sign is a point");
    CHECK_TEXT(READ("a,b\n1,2\n1\n"), ":3: 1 field, but the header names 2 columns");
    CHECK_TEXT(READ("a,b\n1,\"2\n3,4\n"), ":2: a quote is opened and never closed");
    CHECK_TEXT(READ("a,b\n\"1\" 2,3\n"),
               ":2: text after a closing quote; inside quotes a quote is written twice");
    CHECK_TEXT(READ("a,b\n1,\0\n"), ":2: a zero byte: this is not a text file");
  }
  TEST("records of many fields and bytes") {
    static char text[3 * CSV_COLUMNS_MAX];
    memset(text, ',', CSV_COLUMNS_MAX);
    CHECK_TEXT(read_all(text, CSV_COLUMNS_MAX), ":1: more than 4096 fields");
    CHECK(csv_open(&csv, "/nowhere/t.csv") == false);
    CHECK(strstr(csv.why, "/nowhere/t.csv: cannot be read: "));
  }
}

#define SEPARATED(how, call)                                                                       \
  ":1: fields are separated by " how "; write the file with commas: "                              \
  "pandas.read_csv(FILE, sep=" call ").to_csv(\"train.csv\", index=False)"

static void test_separators(void) {
  TEST("other separators are named with the call that rewrites the file, quoted or not") {
    CHECK_TEXT(READ("a;b\n1;2\n"), SEPARATED("';'", "\";\""));
    CHECK_TEXT(READ("\"a\";\"b\"\n1;2\n"), SEPARATED("';'", "\";\""));
    CHECK_TEXT(READ("\xef\xbb\xbf\"a, m2\";\"b\"\r\n1,5;2\r\n"),
               SEPARATED("';'", "\";\", decimal=\",\""));
    CHECK_TEXT(READ("\n\"a\"\t\"b\"\n1\t2\n"), SEPARATED("tabs", "\"\\t\""));
    CHECK_TEXT(READ("\"a\"|b\n"), SEPARATED("'|'", "\"|\""));
    CHECK_TEXT(READ("a\x01"
                    "b\n"),
               SEPARATED("bytes of 1", "\"\\x01\""));
  }
  TEST("they may be inside names, and rows may differ from the header") {
    CHECK_TEXT(READ("\"a;b\"\n1\n"), "<a;b>\n<1>\n");
    CHECK_TEXT(READ("a;b,c\n1,2\n"), "<a;b><c>\n<1><2>\n");
    CHECK_TEXT(READ("a,b\n1;2\n"),
               ":2: 1 field, but the header names 2 columns; fields are separated by commas");
    CHECK_TEXT(READ("a,b\n\"1\";\"2\"\n"),
               ":2: after a closing quote fields are separated by ';', and not by commas");
    CHECK_TEXT(READ("a,b\n\"1\"\t\"2\"\n"),
               ":2: after a closing quote fields are separated by tabs, and not by commas");
  }
  TEST("Excel's line about the separator is not a header") {
    CHECK_TEXT(READ("sep=;\na;b\n"), ":1: sep=; is a note for Excel: remove this line, so that the "
                                     "first one names the columns");
    CHECK_TEXT(READ("sep=,\r\na,b\r\n"), ":1: sep=, is a note for Excel: remove this line, so that "
                                         "the first one names the columns");
    CHECK_TEXT(READ("sep=x,b\n1,2\n"), "<sep=x><b>\n<1><2>\n");
  }
}

static const char *field(const char *text, uint32_t vocab) {
  static char line[64];
  (void)snprintf(line, sizeof line, "a,b\n0,%s\n", text);
  write_file(line, strlen(line));
  CHECK(csv_open(&csv, path) && csv_next(&csv) == CSV_RECORD);
  float value;
  bool good = vocab > 0 ? csv_id(&csv, 1, "b", vocab, &value) : csv_number(&csv, 1, "b", &value);
  if (good) (void)snprintf(line, sizeof line, "%g", (double)value);
  csv_close(&csv);
  return good ? line : csv.why + strlen(path);
}

static const char *number(const char *text) {
  return field(text, 0);
}

static void test_numbers(void) {
  TEST("decimal numbers") {
    CHECK_TEXT(number(" -2e3 "), "-2000");
    CHECK_TEXT(number("\"4\""), "4");
    CHECK_TEXT(number("+.5E-1"), "0.05");
    CHECK_TEXT(number("7."), "7");
  }
  TEST("what no program writes for a number is refused with the number that it may be") {
    CHECK_TEXT(number(""), ":2:b: is empty: fill in what is missing, or leave the row out");
    CHECK_TEXT(number("0x1p3"), ":2:b: '0x1p3' is not a decimal number: write 8");
    CHECK_TEXT(number("1_000"), ":2:b: '1_000' is not a number: write 1000");
    CHECK_TEXT(number("\"1,5\""), ":2:b: '1,5' is not a number: write 1.5");
    CHECK_TEXT(number("\"-1,500\""),
               ":2:b: '-1,500' is not a number: write -1500, or -1.500 if its comma is decimal");
    CHECK_TEXT(number("\"1.234,5\""), ":2:b: '1.234,5' is not a number: write 1234.5");
    CHECK_TEXT(number("\"1,234,567.5\""), ":2:b: '1,234,567.5' is not a number: write 1234567.5");
    CHECK_TEXT(number("1 000"), ":2:b: '1 000' is not a number: write 1000");
    CHECK_TEXT(number("-Infinity"), ":2:b: '-Infinity' is not a finite number: fill in what is "
                                    "missing, or leave the row out");
    CHECK(strstr(number("N/A"), ":2:b: 'N/A' is not a finite number: fill in what is missing"));
    CHECK_TEXT(number("nan"), ":2:b: 'nan' is not a finite number: fill in what is missing, or "
                              "leave the row out");
  }
  TEST("other texts") {
    static const char *const texts[] = {"12%", "$5", "1d3", "1.5f",  "--1",
                                        "1e",  ".",  "-",   "1.2.3e"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
      CHECK(strstr(number(texts[i]), "' is not a number: write digits and a point, as in -1.5 or"));
    CHECK_TEXT(number("red"), ":2:b: 'red' is not a number; a category or a class is a whole "
                              "number from 0");
    CHECK_TEXT(number("1e99"), ":2:b: '1e99' is above 3.4e38, the largest number of f32");
    CHECK(strstr(number("\x1b[31m"), ":2:b: '?[31m' is not a number"));
  }
}

static void test_ids(void) {
  TEST("ids are whole numbers below the vocabulary, read exactly") {
    CHECK_TEXT(field("2.0", 3), "2");
    CHECK_TEXT(field("-100", 3), "-100");
    CHECK_TEXT(field("3", 3), ":2:b: '3' is not an id: ids are whole numbers from 0 to 2, or -1 "
                              "for none; subtract 1 where they are counted from 1");
    CHECK_TEXT(field("1.00000001", 3), ":2:b: '1.00000001' is not an id: ids are whole numbers "
                                       "from 0 to 2, or -1 for none");
    CHECK(strstr(field("16777217", 1u << 30), "from 0 to 16777216, or -1 for none"));
    CHECK_TEXT(field("0x1", 3), ":2:b: '0x1' is not a decimal number: write 1");
  }
}

static void test_names(void) {
  TEST("columns by name; a name that occurs twice is refused when it is asked for") {
    write_file("a,b,a\n", 6);
    CHECK(csv_open(&csv, path));
    CHECK_INT(csv_find(&csv, "b"), 1);
    CHECK_INT(csv_find(&csv, "c"), -1);
    CHECK_TEXT(csv.why, "");
    CHECK_INT(csv_find(&csv, "a"), -1);
    CHECK(strstr(csv.why, ":1: columns 1 and 3 are both called 'a'"));
    csv_close(&csv);
  }
  TEST("a line of names comes back") {
    static const char *const names[] = {"a", "area, m2", "", " b", "say \"c\""};
    char line[128] = "", name[64];
    for (size_t i = 0; i < 5; i++) {
      CHECK(csv_quote(names[i], name, 3) <= sizeof name);
      CHECK_INT((int64_t)csv_quote(names[i], name, sizeof name), (int64_t)strlen(name) + 1);
      if (i > 0) append(line, sizeof line, ",");
      append(line, sizeof line, name);
    }
    CHECK(csv_split(&csv, line));
    CHECK_INT(csv.field_count, 5);
    for (int32_t i = 0; i < 5 && i < csv.field_count; i++)
      CHECK_TEXT(csv_field(&csv, i), names[i]);
    csv_close(&csv);
    CHECK(csv_split(&csv, ""));
    CHECK_INT(csv.field_count, 0);
    csv_close(&csv);
  }
}

int main(void) {
  close(mkstemp(path));
  test_shapes();
  test_refused();
  test_separators();
  test_numbers();
  test_ids();
  test_names();
  (void)unlink(path);
  CHECK_DONE();
}

/* LINK: safetensors
 * Files of tensors: written, read again, damaged in every way that a header can be, and in shards.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/safetensors/safetensors.h"
#include "tests/unit/check.h"

enum { TEXT_ROOM = 2048 };

static char folder[] = "/tmp/lockstep_safetensors_XXXXXX";
static char heard[TEXT_ROOM];
static Status status;

static void hear(void *context, const SafeProblem *problem) {
  (void)context;
  size_t used = strlen(heard);
  (void)snprintf(heard + used, sizeof heard - used, "%s %lld+%lld: %s\n",
                 problem->tensor ? problem->tensor : "-", (long long)problem->first_byte,
                 (long long)problem->bytes, problem->why);
}

static const SafeSink sink = {hear, NULL};

/* Problems of a header over `data_bytes` of data; "" for none. */
static const char *problems(const char *header, int64_t data_bytes) {
  SafeFile file;
  size_t bytes = strlen(header);
  heard[0] = 0;
  SafeResult result =
      safe_parse(&file, "x", header, bytes, 8 + (int64_t)bytes + data_bytes, &sink, &status);
  CHECK_INT(result, heard[0] ? SAFE_DAMAGED : SAFE_WHOLE);
  safe_close(&file);
  return heard;
}

static const char *in_folder(const char *name) {
  static char path[4][128];
  static int at;
  char *to = path[at++ % 4];
  (void)snprintf(to, sizeof path[0], "%s/%s", folder, name);
  return to;
}

static void write_file(const char *name, const void *bytes, size_t count, size_t zeros) {
  FILE *file = fopen(in_folder(name), "wb");
  if (!file || fwrite(bytes, 1, count, file) != count) abort();
  for (size_t i = 0; i < zeros; i++)
    (void)fputc((int)i, file);
  fclose(file);
}

static const int64_t shape_a[] = {2, 3}, shape_none[] = {0, 5};

/* Two tensors and one of no elements; `more` in the second's name. */
static void write_tensors(const char *file, const char *second) {
  const SafeEntry entries[] = {{"a.weight", SAFE_BF16, 2, shape_a},
                               {second, SAFE_U64, 0, NULL},
                               {"none", SAFE_F32, 2, shape_none}};
  const SafeNote notes[] = {{"format", "pt"}, {"quoted", "{\"a\": 1}"}};
  size_t bytes;
  char *header = safe_header(notes, 2, entries, second ? 3 : 1, 64, &bytes);
  CHECK(header != NULL);
  CHECK_INT(bytes % 64, 0);
  write_file(file, header, bytes, second ? 20 : 12);
  free(header);
}

static void test_round_trip(void) {
  SafeFile file;
  uint8_t read[4];
  heard[0] = 0;
  TEST("what is written is read") {
    write_tensors("one.safetensors", "b");
    CHECK_INT(safe_open(&file, in_folder("one.safetensors"), &sink, &status), SAFE_WHOLE);
    CHECK_TEXT(heard, "");
    CHECK_INT(file.tensor_count, 3);
    const SafeTensor *a = safe_find(&file, "a.weight"), *b = safe_find(&file, "b");
    CHECK(a && b && safe_find(&file, "none") && !safe_find(&file, "c"));
    CHECK_INT(a->elements, 6);
    CHECK_INT(a->dtype, SAFE_BF16);
    CHECK_INT(a->first_byte, file.data_first);
    CHECK_INT(b->bytes, 8);
    CHECK_TEXT(safe_note(&file, "quoted"), "{\"a\": 1}");
    CHECK(safe_note(&file, "none") == NULL);
    CHECK(safe_read(&file, b->first_byte + 1, read, sizeof read, &status));
    CHECK_INT(read[0], 13);
    CHECK(!safe_read(&file, file.file_bytes - 2, read, sizeof read, &status));
    safe_close(&file);
  }
  TEST("a file that is cut names every tensor that it lacks") {
    write_tensors("one.safetensors", "b");
    CHECK_INT(truncate(in_folder("one.safetensors"), 260), 0);
    CHECK_INT(safe_open(&file, in_folder("one.safetensors"), &sink, &status), SAFE_DAMAGED);
    CHECK_TEXT(heard, "a.weight 256+12: the file ends at byte 260, before the tensor does\n"
                      "b 268+8: the file ends at byte 260, before the tensor does\n"
                      "none 276+0: the file ends at byte 260, before the tensor does\n");
    safe_close(&file);
    CHECK_INT(truncate(in_folder("one.safetensors"), 4), 0);
    CHECK_INT(safe_open(&file, in_folder("one.safetensors"), &sink, &status), SAFE_DAMAGED);
    safe_close(&file);
  }
  TEST("a file that is not there") {
    CHECK_INT(safe_open(&file, in_folder("nowhere"), &sink, &status), SAFE_UNREAD);
    safe_close(&file);
  }
}

#define ENTRY(name, dtype, shape, first, end)                                                      \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" first "," end "]" \
  "}"

static void test_offsets(void) {
  TEST("good headers") {
    CHECK_TEXT(problems("{}", 0), "");
    CHECK_TEXT(problems("{" ENTRY("a", "F8_E4M3", "[3]", "0", "3") "}  ", 3), "");
    CHECK_TEXT(
        problems("{" ENTRY("b", "F16", "[1]", "3", "5") "," ENTRY("a", "U8", "[3]", "0", "3") "}",
                 5),
        "");
  }
  TEST("holes, overlaps and the length of the file, all of them") {
    CHECK_TEXT(
        problems("{" ENTRY("a", "U8", "[3]", "0", "3") "," ENTRY("b", "U8", "[2]", "4", "6") "}",
                 9),
        "- 116+1: these bytes are of no tensor\n"
        "- 119+3: these bytes after the last tensor are of none\n");
    CHECK_TEXT(
        problems("{" ENTRY("a", "U8", "[3]", "0", "3") "," ENTRY("b", "U8", "[2]", "2", "4") "}",
                 3),
        "b 115+1: it overlaps the tensor before it\n"
        "b 115+2: the file ends at byte 116, before the tensor does\n");
    CHECK(strstr(problems("{}", 1), "these bytes after the last tensor are of none"));
  }
}

static void test_damage(void) {
  TEST("entries, each of which is reported") {
    static const char *const bad[] = {
        ENTRY("a", "F31", "[3]", "0", "3"),
        ENTRY("a", "U8", "[4]", "0", "3"),
        ENTRY("a", "U8", "[-1,-3]", "0", "3"),
        ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,3]", "0", "3"),
        ENTRY("a", "U8", "[4611686018427387904,4]", "0", "0"),
        ENTRY("a", "U64", "[2305843009213693952]", "0", "0"),
        ENTRY("a", "U8", "[0]", "3", "0"),
        ENTRY("a", "U8", "[0]", "9223372036854775807", "9223372036854775807"),
        ENTRY("a", "U8", "3", "0", "3"),
        ENTRY("a", "U8", "[3.5]", "0", "3"),
        "\"a\":3",
        "\"a\":{}",
        "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0]}",
        "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"more\":1}",
    };
    char header[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      (void)snprintf(header, sizeof header, "{%s,\"z\":7}", bad[i]);
      const char *text = problems(header, 0);
      CHECK(strncmp(text, "a ", 2) == 0 && strstr(text, "\nz ") != NULL);
    }
  }
  TEST("the whole header") {
    CHECK(strstr(problems("[]", 0), "not a JSON object"));
    CHECK(strstr(problems("{\"a\":", 0), "- 12+1: the header is not JSON"));
    CHECK(strstr(problems("{\"__metadata__\":7}", 0), "__metadata__ is not an object"));
    CHECK(strstr(problems("{\"__metadata__\":{\"a\":7}}", 0), "not a text"));
    CHECK(strstr(problems("{\"a\":1,\"a\":1}", 0), "duplicate"));
  }
  TEST("the header's length") {
    static const uint8_t beyond[8] = {100}, huge[8] = {0, 0, 0, 0, 0, 0, 0, 0x80};
    SafeFile file;
    heard[0] = 0;
    write_file("beyond", beyond, 8, 5);
    CHECK_INT(safe_open(&file, in_folder("beyond"), &sink, &status), SAFE_DAMAGED);
    safe_close(&file);
    write_file("huge", huge, 8, 5);
    CHECK_INT(safe_open(&file, in_folder("huge"), &sink, &status), SAFE_DAMAGED);
    safe_close(&file);
    CHECK_TEXT(heard, "- 0+8: the file ends before its header of 100 bytes does\n"
                      "- 0+8: the header's length, 9223372036854775808, is above the format's "
                      "limit of 100 MB\n");
  }
}

static SafeResult open_set(const char *name, SafeSet *set, const char *index) {
  heard[0] = 0;
  if (index) write_file("model.safetensors.index.json", index, strlen(index), 0);
  return safe_set_open(set, name ? in_folder(name) : folder, &sink, &status);
}

static SafeResult judge_set(const char *index) {
  SafeSet set;
  SafeResult result = open_set(NULL, &set, index);
  safe_set_close(&set);
  return result;
}

static void test_sets(void) {
  SafeSet set;
  write_tensors("m-1.safetensors", NULL);
  const SafeEntry entry = {"b", SAFE_U8, 1, (const int64_t[]){4}};
  size_t bytes;
  char *header = safe_header(NULL, 0, &entry, 1, 8, &bytes);
  write_file("m-2.safetensors", header, bytes, 4);
  free(header);
  TEST("shards by their index") {
    CHECK_INT(open_set(NULL, &set,
                       "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"a.weight\":"
                       "\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}}"),
              SAFE_WHOLE);
    CHECK_TEXT(heard, "");
    SafePlace place = safe_set_find(&set, "b");
    uint8_t byte = 0;
    CHECK(place.tensor && safe_read(place.file, place.tensor->first_byte + 3, &byte, 1, &status));
    CHECK_INT(byte, 3);
    CHECK(safe_set_find(&set, "c").tensor == NULL);
    safe_set_close(&set);
  }
  TEST("one file is a set, too") {
    CHECK_INT(open_set("m-2.safetensors", &set, NULL), SAFE_WHOLE);
    CHECK_INT(set.place_count, 1);
    safe_set_close(&set);
  }
  TEST("indices that are wrong") {
    CHECK_INT(judge_set("{\"weight_map\":{\"a.weight\":\"m-2.safetensors\"}}"), SAFE_DAMAGED);
    CHECK(strstr(heard, "a.weight 0+0: the file that the index names does not have it"));
    CHECK_INT(judge_set("{\"weight_map\":{\"b\":\"../x\"}}"), SAFE_DAMAGED);
    CHECK_INT(judge_set("{\"weight_map\":{\"b\":7}}"), SAFE_DAMAGED);
    CHECK_INT(judge_set("{\"weight_map\":[]}"), SAFE_DAMAGED);
    CHECK_INT(judge_set("[]"), SAFE_DAMAGED);
    CHECK_INT(judge_set("{"), SAFE_DAMAGED);
    CHECK_INT(judge_set("{\"weight_map\":{\"b\":\"m-3.safetensors\"}}"), SAFE_UNREAD);
  }
  TEST("a tensor in two files, and several files without an index") {
    write_file("m-3.safetensors", "", 0, 0);
    CHECK_INT(rename(in_folder("m-2.safetensors"), in_folder("m-3.safetensors")), 0);
    CHECK_INT(link(in_folder("m-3.safetensors"), in_folder("m-2.safetensors")), 0);
    CHECK_INT(judge_set("{\"weight_map\":{\"b\":\"m-2.safetensors\",\"c\":\"m-3.safetensors\"}}"),
              SAFE_DAMAGED);
    CHECK(strstr(heard, "another file of the set has it"));
    CHECK_INT(unlink(in_folder("model.safetensors.index.json")), 0);
    CHECK_INT(judge_set(NULL), SAFE_UNREAD);
    CHECK(strstr(status.text, "no index"));
  }
}

static void clear(void) {
  static const char *const names[] = {"one.safetensors", "m-1.safetensors", "m-2.safetensors",
                                      "m-3.safetensors", "beyond",          "huge"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    (void)unlink(in_folder(names[i]));
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  test_round_trip();
  test_offsets();
  test_damage();
  clear();
  test_sets();
  clear();
  CHECK_INT(rmdir(folder), 0);
  CHECK_DONE();
}

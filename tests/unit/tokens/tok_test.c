/* .tok files: written from documents and read back, every damaged header refused, JSON lines.
 * LINK: documents */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/documents/documents.h"
#include "tests/unit/check.h"

static char folder[64], path[256], why[TOKENS_WHY_BYTES];

static const char *name(const char *file) {
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  return path;
}

static const char *make(const char *file, const void *bytes, size_t count) {
  FILE *out = fopen(name(file), "wb");
  if (!out || fwrite(bytes, 1, count, out) != count) abort();
  fclose(out);
  return path;
}

static const uint32_t ids[10] = {7, 8, 9, 500, 1, 2, 3, 4, 5, 70000};
static const uint8_t is_target[10] = {0, 1, 1, 0, 0, 1, 0, 1, 1, 1};
static const int64_t start[5] = {0, 3, 4, 8, 10};

static void test_written(void) {
  TokensWritten written;
  TokenFile file;
  DataFormat format;
  TEST("documents come back, their mask and where they begin too") {
    TokDocuments all = {ids, is_target, start, 4, 70001, 42};
    CHECK(tokens_write_documents(&all, folder, 0.25, NULL, &written, why));
    CHECK_INT(written.train_tokens, 8);
    CHECK_INT(written.valid_tokens, 2);
    CHECK(tokens_detect(name("train.tok"), &format, why) && format == FORMAT_TOK);
    CHECK(tokens_open(&file, name("train.tok"), FORMAT_TOK, why) && tokens_sum_matches(&file));
    CHECK_INT(file.count, 8);
    CHECK_INT(file.id_bytes, 4);
    CHECK_INT(file.document_count, 3);
    CHECK(file.vocab == 70001 && file.tokenizer == 42);
    for (int64_t i = 0; i < 8; i++)
      CHECK(tokens_id(&file, i) == ids[i] && tokens_is_target(&file, i) == (is_target[i] != 0));
    for (int64_t i = 0; i < 3; i++)
      CHECK_INT(tokens_document(&file, i), start[i]);
    tokens_close(&file);
    CHECK(tokens_open(&file, name("valid.tok"), FORMAT_TOK, why) && tokens_sum_matches(&file));
    CHECK(file.count == 2 && tokens_id(&file, 1) == 70000 && tokens_document(&file, 0) == 0);
    tokens_close(&file);
  }
  TEST("without a mask every id is a target; small ids take two bytes; nothing is held out") {
    TokDocuments all = {ids, NULL, start, 3, 501, 0};
    CHECK(tokens_write_documents(&all, folder, 0, NULL, &written, why));
    CHECK(access(name("valid.tok"), F_OK) != 0);
    CHECK(tokens_open(&file, name("train.tok"), FORMAT_TOK, why));
    CHECK(file.id_bytes == 2 && file.mask == NULL && tokens_is_target(&file, 0));
    CHECK(tokens_id(&file, 3) == 500);
    tokens_close(&file);
  }
}

/* Each byte of a file changed by itself: the header's are refused, the others found by the sum or
 * before it. */
static void test_damaged(void) {
  static uint8_t bytes[256];
  TokDocuments all = {ids, is_target, start, 4, 70001, 0};
  TokensWritten written;
  CHECK(tokens_write_documents(&all, folder, 0, NULL, &written, why));
  FILE *in = fopen(name("train.tok"), "rb");
  size_t count = in ? fread(bytes, 1, sizeof bytes, in) : 0;
  if (in) fclose(in);
  CHECK_INT(count, 64 + 4 * 8 + 10 * 4 + 2);
  TEST("a changed byte and a cut are found") {
    for (size_t i = 0; i <= count; i++) {
      TokenFile file;
      bytes[i] ^= i < count ? 0x10 : 0;
      bool is_open = tokens_open(&file, make("bad.tok", bytes, count), FORMAT_TOK, why);
      CHECK(i < count ? !is_open || (i >= 64 && !tokens_sum_matches(&file)) : is_open);
      if (is_open) tokens_close(&file);
      bytes[i] ^= i < count ? 0x10 : 0;
      CHECK(i == count || !tokens_open(&file, make("bad.tok", bytes, i), FORMAT_TOK, why));
    }
    CHECK(strstr(why, "bad.tok: its header promises 10 tokens of 4 bytes in 4 documents"));
  }
}

static bool read_lines(const char *lines, TokDocuments *all) {
  static const DocumentOptions only_ids = {0};
  DocumentCounts counts;
  const char *file = make("a.jsonl", lines, strlen(lines));
  return documents_read(&file, 1, &only_ids, all, &counts, why);
}

static void check_lines(const char *lines, const char *want) {
  TokDocuments all;
  CHECK(!read_lines(lines, &all));
  if (!strstr(why, want)) printf("got: %s\nwant: %s\n", why, want);
  CHECK(strstr(why, want) != NULL);
}

static void test_lines(void) {
  static const char good[] = "{\"ids\": [1, 2]}\n\n{\"mask\": [0, true, 1], \"ids\": [3, 4, 9]}";
  TokDocuments all;
  TEST("documents are lines of ids and, where some are no targets, a mask") {
    CHECK(read_lines(good, &all));
    CHECK(all.count == 2 && all.start[1] == 2 && all.start[2] == 5 && all.vocab == 10);
    CHECK(all.ids[4] == 9 && all.is_target[0] && !all.is_target[2] && all.is_target[3]);
    documents_free(&all);
  }
  TEST("a bad line is named") {
    check_lines("{\"ids\": [1, 2]}\n{\"ids\": [1, 2], \"mask\": [1]}\n",
                "a.jsonl:2: \"mask\" is 1 long, and \"ids\" 2");
    check_lines("{\"ids\": [1], \"mask\": [2]}", "entry 0 of \"mask\" is not 0 or 1");
    check_lines("{\"ids\": [-1]}", "id 0 is no whole number from 0 to 2147483646");
    check_lines("{\"ids\": [1, 2147483647]}", "id 1 is no whole number");
    check_lines("{\"ids\": []}", "\"ids\" is no list");
    check_lines("{\"mask\": []}", "\"ids\" is no list");
    check_lines("[1]", "is no JSON object");
    check_lines("{\"text\": \"a\"}", "a.jsonl:1: \"text\" wants a tokenizer");
    check_lines("{\"ids\": [1], \"id\": 1}", "\"id\" is no key of a document");
    check_lines("{\"ids\": [1", "at byte");
    check_lines("\n \n", "holds no documents");
  }
}

static void test_packed(void) {
  TEST("documents are packed the longest first, each into the fullest window that holds it") {
    static const int64_t starts[] = {0, 3, 19, 24, 35, 55};
    static uint32_t many[55];
    TokDocuments all = {many, NULL, starts, 5, 1, 0};
    TokensWritten written;
    TokenFile file;
    TokPacking packing;
    CHECK(tokens_write_documents(&all, folder, 0, NULL, &written, why));
    CHECK(tokens_open(&file, name("train.tok"), FORMAT_TOK, why));
    const TokenFile *files[] = {&file, &file};
    CHECK(tokens_pack(files, 1, 16, &packing));
    CHECK_INT(packing.windows, 4); /* 16; 16 of the 20; 11 and 5; the other 4 and 3 */
    CHECK_INT(packing.piece[0].first, 3);
    CHECK(packing.piece[1].first == 35 && packing.piece[1].length == 16 &&
          packing.piece[1].goes_on);
    CHECK(packing.piece[2].first == 24 && packing.piece[3].first == 19);
    CHECK(packing.piece[4].first == 51 && !packing.piece[4].goes_on);
    CHECK(packing.piece[5].first == 0 && packing.first_piece[3] == 4 &&
          packing.first_piece[4] == 6);
    tokens_free_packing(&packing);
    CHECK(tokens_pack(files, 2, 16, &packing) && packing.windows == 7); /* 4 4 3 3 in one */
    CHECK_INT(packing.piece[packing.first_piece[7] - 1].first, 55);
    tokens_free_packing(&packing);
    tokens_close(&file);
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_tok_XXXXXX");
  if (mkdtemp(folder) == NULL) return 2;
  test_written();
  test_damaged();
  test_lines();
  test_packed();
  static const char *const files[] = {"train.tok", "valid.tok", "bad.tok", "a.jsonl"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    (void)unlink(name(files[i]));
  (void)rmdir(folder);
  CHECK_DONE();
}

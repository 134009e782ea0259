/* Token files: every format read, every broken header refused in one line, text written.
 * LINK: tokens */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/tokens/tokens.h"
#include "tests/unit/check.h"

static char folder[64], path[256], why[TOKENS_WHY_BYTES];

static const char *make(const char *name, const void *bytes, size_t count) {
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, count, file) != count) abort();
  fclose(file);
  return path;
}

static void check_refused(const char *file, DataFormat format, const char *reason) {
  TokenFile tokens;
  why[0] = 0;
  CHECK(!tokens_open(&tokens, file, format, why));
  if (!strstr(why, reason) || strchr(why, '\n') || !strstr(why, folder))
    printf("got: %s\nwant: %s\n", why, reason);
  CHECK(strstr(why, reason) && !strchr(why, '\n') && strstr(why, folder));
}

static void test_raw(void) {
  static const uint8_t bytes[8] = {1, 0, 2, 1, 255, 255, 0, 128};
  TokenFile tokens;
  const char *file = make("raw", bytes, sizeof bytes);
  TEST("raw files are their ids") {
    CHECK(tokens_open(&tokens, file, FORMAT_U8, why));
    CHECK_INT(tokens.count, 8);
    CHECK_INT(tokens_id(&tokens, 4), 255);
    CHECK_INT(tokens_find_bad(&tokens, 0, 8, 256), -1);
    CHECK_INT(tokens_find_bad(&tokens, 1, 7, 200), 4);
    tokens_close(&tokens);
    CHECK(tokens_open(&tokens, file, FORMAT_U16, why));
    CHECK_INT(tokens.count, 4);
    CHECK_INT(tokens_id(&tokens, 1), 258);
    tokens_close(&tokens);
    CHECK(tokens_open(&tokens, file, FORMAT_U32, why));
    CHECK_INT(tokens_id(&tokens, 1), 0x8000ffff);
    tokens_close(&tokens);
    DataFormat format;
    CHECK(!tokens_detect(file, &format, why));
    CHECK(strstr(why, "say u8, u16 or u32"));
  }
  TEST("raw files of another width, empty and absent ones are refused") {
    check_refused(make("raw7", bytes, 7), FORMAT_U16, "7 bytes are not a whole number of u16");
    check_refused(make("raw7", bytes, 7), FORMAT_U32, "u32");
    check_refused(make("none", bytes, 0), FORMAT_U8, "is empty");
    (void)unlink(path);
    check_refused(path, FORMAT_U8, "cannot be read");
    check_refused(folder, FORMAT_U8, "is not a regular file");
  }
}

static void test_llmc(void) {
  int32_t file[256 + 4] = {20240520, 1, 8};
  uint16_t *ids = (uint16_t *)(void *)(file + 256);
  for (uint16_t i = 0; i < 8; i++)
    ids[i] = (uint16_t)(1000 * i);
  size_t bytes = sizeof file;
  TokenFile tokens;
  DataFormat format;
  TEST("llm.c's files are read") {
    const char *name = make("gpt2.bin", file, bytes);
    CHECK(tokens_detect(name, &format, why) && format == FORMAT_LLMC);
    CHECK(tokens_open(&tokens, name, FORMAT_LLMC, why));
    CHECK_INT(tokens.count, 8);
    CHECK_INT(tokens_id(&tokens, 7), 7000);
    tokens_close(&tokens);
    file[0] = 20240801, file[1] = 7, file[2] = 4;
    CHECK(tokens_open(&tokens, make("llama3.bin", file, bytes), FORMAT_LLMC, why));
    CHECK_INT(tokens.count, 4);
    CHECK_INT(tokens_id(&tokens, 1), 2000 + 3000 * 65536);
    tokens_close(&tokens);
  }
  TEST("llm.c's files with a broken header are refused") {
    check_refused(make("bad.bin", file, 1000), FORMAT_LLMC, "too few for llm.c's header");
    check_refused(make("bad.bin", file, bytes - 4), FORMAT_LLMC, "header promises 4 tokens");
    file[1] = 1;
    check_refused(make("bad.bin", file, bytes), FORMAT_LLMC, "version 1 with magic 20240801");
    file[0] = 5;
    check_refused(make("bad.bin", file, bytes), FORMAT_LLMC, "first number is 5");
    file[0] = 20240801, file[1] = 7, file[2] = 0;
    check_refused(make("bad.bin", file, 1024), FORMAT_LLMC, "holds no tokens");
  }
}

static void test_foreign(void) {
  static const struct {
    const char *name, *head;
    size_t bytes;
    const char *what;
  } files[] = {
      {"a", "PAR1", 4, "a Parquet file"},
      {"a.parquet", "x", 1, "a Parquet file"},
      {"a", "ARROW1", 6, "an Arrow file"},
      {"a.arrow", "\xff\xff\xff\xff", 4, "an Arrow"},
      {"a", "\x93NUMPY\1", 7, "a NumPy array"},
      {"a.npz", "PK\3\4", 4, "a NumPy archive"},
      {"a.pt", "PK\3\4", 4, "a PyTorch file"},
      {"a", "PK\3\4", 4, "a zip archive"},
      {"a.u8.gz", "x", 1, "packed by gzip"},
      {"a", "\x1f\x8b\x08", 3, "packed by gzip"},
      {"a", "\x28\xb5\x2f\xfd", 4, "packed by zstd"},
      {"A.JSONL", "{}", 2, "JSON"},
      {"a", "\x40\0\0\0\0\0\0\0{\"a\":", 13, "a safetensors file"},
      {"a", "MMIDIDX\0\0", 9, "Megatron's index"},
  };
  static uint8_t bytes[512];
  TEST("files of other kinds are recognised, and no raw format reads them") {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
      TokensForeign foreign = {0};
      memset(bytes, 0, sizeof bytes);
      memcpy(bytes, files[i].head, files[i].bytes);
      const char *file = make(files[i].name, bytes, sizeof bytes);
      CHECK(tokens_foreign(file, &foreign));
      if (foreign.what) CHECK(strncmp(foreign.what, files[i].what, strlen(files[i].what)) == 0);
      for (int32_t format = FORMAT_U8; format <= FORMAT_U32; format++)
        check_refused(file, (DataFormat)format, files[i].what);
      (void)unlink(file);
    }
  }
  TEST("tokens are taken for nothing else") {
    TokensForeign foreign;
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = i % 2 == 0 ? (uint8_t)(' ' + i % 90) : 0; /* letters as u16 ids */
    const char *file = make("raw", bytes, sizeof bytes);
    CHECK(!tokens_foreign(file, &foreign) && !tokens_is_text(file));
  }
  TEST("text is no u16 or u32, and bytes of it are u8") {
    TokenFile tokens;
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (uint8_t) "caf\xc3\xa9\n"[i % 6];
    const char *file = make("text", bytes, 510);
    CHECK(tokens_is_text(file));
    check_refused(file, FORMAT_U16, "is text, not u16 tokens");
    CHECK(tokens_open(&tokens, file, FORMAT_U8, why));
    tokens_close(&tokens);
    bytes[9] = 0x80; /* no UTF-8 */
    CHECK(!tokens_is_text(make("text", bytes, 510)));
    CHECK(!tokens_is_text(make("text", "abc", 3)) && tokens_is_text(make("a.txt", "abc", 3)));
  }
  TEST("llm.c's header is no tokens") {
    int32_t head[256 + 4] = {20240520, 1, 8};
    check_refused(make("a.bin", head, sizeof head), FORMAT_U16, "say format = \"llmc\"");
  }
}

/* Two sequences of 3 and 2 tokens, two documents. */
static size_t megatron_index(uint8_t out[256], uint8_t code, uint64_t id_bytes) {
  size_t at = 0;
  uint64_t version = 1, sequences = 2, documents = 3;
  uint32_t lengths[2] = {3, 2};
  uint64_t pointers[2] = {0, 3 * id_bytes}, document[3] = {0, 1, 2};
  memcpy(out + at, "MMIDIDX\0", 9), at += 9;
  memcpy(out + at, &version, 8), at += 8;
  out[at++] = code;
  memcpy(out + at, &sequences, 8), at += 8;
  memcpy(out + at, &documents, 8), at += 8;
  memcpy(out + at, lengths, 8), at += 8;
  memcpy(out + at, pointers, 16), at += 16;
  memcpy(out + at, document, 24), at += 24;
  return at;
}

static void test_megatron(void) {
  static const uint16_t ids[5] = {10, 20, 30, 40, 50};
  uint8_t index[256];
  size_t bytes = megatron_index(index, 8, 2);
  char bin[128];
  (void)snprintf(bin, sizeof bin, "%s", make("data.bin", ids, sizeof ids));
  TokenFile tokens;
  DataFormat format;
  TEST("Megatron's pairs are read, by any of their names") {
    (void)make("data.idx", index, bytes);
    CHECK(tokens_detect(bin, &format, why) && format == FORMAT_MEGATRON);
    static const char *const names[3] = {"data", "data.bin", "data.idx"};
    for (int i = 0; i < 3; i++) {
      (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
      CHECK(tokens_open(&tokens, path, FORMAT_MEGATRON, why));
      CHECK_INT(tokens.count, 5);
      CHECK_INT(tokens_id(&tokens, 3), 40);
      tokens_close(&tokens);
    }
  }
  TEST("Megatron's pairs with a broken index are refused") {
    (void)make("data.idx", index, bytes - 1);
    check_refused(bin, FORMAT_MEGATRON, "is cut off");
    (void)make("data.idx", index, 20);
    check_refused(bin, FORMAT_MEGATRON, "does not begin with Megatron's MMIDIDX");
    index[17] = 6;
    (void)make("data.idx", index, bytes);
    check_refused(bin, FORMAT_MEGATRON, "token type code 6");
    index[17] = 8, index[9] = 2;
    (void)make("data.idx", index, bytes);
    check_refused(bin, FORMAT_MEGATRON, "MMIDIDX version 2");
    index[9] = 1, index[42] = 7;
    (void)make("data.idx", index, bytes);
    check_refused(bin, FORMAT_MEGATRON, "does not begin where");
    index[42] = 0, index[18] = 255;
    memset(index + 18, 255, 8);
    (void)make("data.idx", index, bytes);
    check_refused(bin, FORMAT_MEGATRON, "is cut off");
    (void)megatron_index(index, 8, 2);
    (void)make("data.idx", index, bytes);
    (void)make("data.bin", ids, sizeof ids - 2);
    check_refused(bin, FORMAT_MEGATRON, "describes 5 tokens");
    (void)make("data.idx", index, bytes);
    (void)unlink(path);
    check_refused(bin, FORMAT_MEGATRON, "data.idx: cannot be read");
  }
}

static void test_look(void) {
  enum { IDS = 200000, BEYOND = 255 };
  static uint8_t ids[IDS];
  TokenFile tokens;
  TEST("the first 65,536 ids, windows of the rest and the last ids are looked at") {
    static const int64_t places[] = {0, 65535, 74227, IDS - 1};
    for (int64_t i = 0; i < IDS; i++)
      ids[i] = (uint8_t)(i % 199);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      ids[places[i]] = BEYOND;
      CHECK(tokens_open(&tokens, make("look", ids, IDS), FORMAT_U8, why));
      CHECK_INT(tokens_look(&tokens, 200).bad, places[i]);
      CHECK(tokens_look(&tokens, 256).bad == -1 && tokens_look(&tokens, 256).most == BEYOND);
      tokens_close(&tokens);
      ids[places[i]] = 0;
    }
    ids[66000] = BEYOND; /* between windows */
    CHECK(tokens_open(&tokens, make("look", ids, IDS), FORMAT_U8, why));
    CHECK_INT(tokens_look(&tokens, 200).bad, -1);
    CHECK_INT(tokens_look(&tokens, 200).looked, 65536 + 15 * 4096);
    tokens_close(&tokens);
  }
  TEST("few ids have no marks, and two zeros are no pattern") {
    memset(ids, 0, 64);
    ids[0] = 1;
    for (size_t count = 60; count <= 64; count += 4) {
      CHECK(tokens_open(&tokens, make("look", ids, count), FORMAT_U8, why));
      TokensLook look = tokens_look(&tokens, 256);
      CHECK(!look.is_one_id && look.empty_places == 0 && !look.is_swapped);
      tokens_close(&tokens);
    }
  }
}

static void test_write(void) {
  char out[128], text[128];
  (void)snprintf(out, sizeof out, "%s/data/corpus", folder);
  (void)snprintf(text, sizeof text, "%s", make("text", "In the beginning, and so on", 27));
  TokensWritten written;
  TokenFile tokens;
  TEST("text becomes bytes, its end held out") {
    CHECK(tokens_write_bytes(text, out, 0.1, &written, why));
    CHECK_INT(written.train_tokens, 25);
    CHECK_INT(written.valid_tokens, 2);
    (void)snprintf(path, sizeof path, "%s/valid.u8", out);
    CHECK(tokens_open(&tokens, path, FORMAT_U8, why));
    CHECK_INT(tokens.count, 2);
    CHECK_INT(tokens_id(&tokens, 0), 'o');
    tokens_close(&tokens);
  }
  TEST("an older hold-out does not survive writing without one") {
    CHECK(tokens_write_bytes(text, out, 0, &written, why));
    CHECK(access(path, F_OK) != 0);
  }
  TEST("a file that cannot be written is reported") {
    CHECK(!tokens_write_bytes(text, out, 1.0, &written, why));
    CHECK(!tokens_write_bytes("/nowhere/text", out, 0, &written, why));
    CHECK(!tokens_write_bytes(text, text, 0, &written, why));
    CHECK(strchr(why, '\n') == NULL && why[0]);
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_tokens_%d", (int)getpid());
  (void)mkdir(folder, 0777);
  test_raw();
  test_llmc();
  test_foreign();
  test_megatron();
  test_look();
  test_write();
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}

/* foreign.c -- recognises common files that are not tokens, by their first bytes or their name. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/tokens/tokens.h"

enum { HEAD_BYTES = 4096, TEXT_BYTES_LEAST = 64, ENDINGS_MAX = 6 };

typedef enum ForeignKind {
  OF_ROWS,
  OF_ARRAYS,
  OF_NUMPY,
  PACKED,
  OF_RECORDS,
  OF_CELLS,
  INDEX
} ForeignKind;

/* The fix for each kind of file, for tokens and for tables. */
static const char *const advice[][2] = {
    [OF_ROWS] = {"write the ids out raw, numpy.array(ids, \"uint16\").tofile(\"train.u16\"), and "
                 "say format = \"u16\"",
                 "write it as CSV, pandas.read_parquet(FILE).to_csv(\"train.csv\", index=False)"},
    [OF_ARRAYS] = {"write the ids out raw, ids.numpy().astype(\"uint16\").tofile(\"train.u16\"), "
                   "and say format = \"u16\"",
                   "write the columns as CSV with their names in the first line"},
    [OF_NUMPY] = {"write the ids out raw, "
                  "numpy.load(FILE).astype(\"uint16\").tofile(\"train.u16\"), and say format = "
                  "\"u16\"",
                  "write it as CSV, numpy.savetxt(\"train.csv\", numpy.load(FILE), "
                  "delimiter=\",\", header=NAMES, comments=\"\")"},
    [PACKED] = {"unpack it first (gzip -d, zstd -d, xz -d, unzip)",
                "unpack it first (gzip -d, zstd -d, xz -d, unzip)"},
    [OF_RECORDS] = {"lockstep tokenize FILE.jsonl -o FOLDER --tokenizer PATH makes tokens of its "
                    "lines",
                    "write it as CSV, pandas.read_json(FILE).to_csv(\"train.csv\", index=False)"},
    [OF_CELLS] = {"text goes through lockstep tokenize TEXT -o FOLDER first", "save it as CSV"},
    [INDEX] = {"name the .bin beside it, and say format = \"megatron\"", "name a CSV file"},
};

typedef struct KnownFormat {
  const char *what;
  ForeignKind kind;
  size_t magic_bytes; /* 0: by name only */
  const char *magic;
  const char *endings[ENDINGS_MAX];
} KnownFormat;

static const KnownFormat known[] = {
    {"a Parquet file", OF_ROWS, 4, "PAR1", {".parquet"}},
    {"an Arrow file", OF_ROWS, 6, "ARROW1", {".arrow", ".feather"}},
    {"a NumPy array", OF_NUMPY, 6, "\x93NUMPY", {".npy"}},
    {"a NumPy archive", OF_NUMPY, 0, "", {".npz"}},
    {"a PyTorch file", OF_ARRAYS, 0, "", {".pt", ".pth"}},
    {"a pickle", OF_ARRAYS, 0, "", {".pkl", ".pickle"}},
    {"a safetensors file", OF_ARRAYS, 0, "", {".safetensors"}},
    {"an HDF5 file", OF_ARRAYS, 8, "\x89HDF\r\n\x1a\n", {".h5", ".hdf5"}},
    {"packed by gzip", PACKED, 3, "\x1f\x8b\x08", {".gz", ".tgz"}},
    {"packed by zstd", PACKED, 4, "\x28\xb5\x2f\xfd", {".zst"}},
    {"packed by xz",
     PACKED,
     6,
     "\xfd"
     "7zXZ\0",
     {".xz"}},
    {"packed by bzip2", PACKED, 10, "BZh91AY&SY", {".bz2"}},
    {"an Excel workbook", OF_CELLS, 0, "", {".xlsx", ".xls"}},
    {"a zip archive", PACKED, 4, "PK\3\4", {".zip"}},
    {"JSON", OF_RECORDS, 0, "", {".json", ".jsonl", ".ndjson"}},
    {"Megatron's index", INDEX, 9, "MMIDIDX\0", {NULL}},
};

static bool ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), bytes = strlen(ending);
  return length >= bytes && strcasecmp(path + length - bytes, ending) == 0;
}

static bool is_named(const char *path, const KnownFormat *file) {
  for (int32_t i = 0; i < ENDINGS_MAX && file->endings[i]; i++)
    if (ends_with(path, file->endings[i])) return true;
  return false;
}

static size_t read_head(const char *path, uint8_t head[HEAD_BYTES]) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  size_t got = fread(head, 1, HEAD_BYTES, file);
  fclose(file);
  return got;
}

/* The length of a JSON header in eight bytes, then the header. */
static bool is_safetensors(const uint8_t *head, size_t got) {
  return got > 10 && head[5] == 0 && head[6] == 0 && head[7] == 0 && head[8] == '{' &&
         head[9] == '"';
}

static bool is_of(const KnownFormat *file, const char *path, const uint8_t *head, size_t got) {
  if (is_named(path, file)) return true;
  return file->magic_bytes > 0 && got >= file->magic_bytes &&
         memcmp(head, file->magic, file->magic_bytes) == 0;
}

bool tokens_foreign(const char *path, TokensForeign *foreign) {
  uint8_t head[HEAD_BYTES];
  size_t got = read_head(path, head);
  for (size_t i = 0; got > 0 && i < sizeof known / sizeof *known; i++) {
    if (!is_of(&known[i], path, head, got)) continue;
    *foreign = (TokensForeign){known[i].what, advice[known[i].kind][0], advice[known[i].kind][1],
                               known[i].kind == OF_RECORDS};
    return true;
  }
  if (!is_safetensors(head, got)) return false;
  *foreign =
      (TokensForeign){"a safetensors file", advice[OF_ARRAYS][0], advice[OF_ARRAYS][1], false};
  return true;
}

/* Ids of 16 or 32 bits contain bytes that text does not, unless there are very few ids. */
bool tokens_is_text(const char *path) {
  static const char *const endings[] = {".txt", ".text", ".md", ".html", ".xml", ".csv", ".tsv"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (ends_with(path, endings[i])) return true;
  uint8_t head[HEAD_BYTES];
  size_t got = read_head(path, head);
  for (size_t i = 0; i < got; i++)
    if ((head[i] < ' ' && (head[i] == 0 || !strchr("\t\n\r\f", head[i]))) || head[i] == 0x7f)
      return false;
  for (size_t i = 0, more = 0; i < got; i++) { /* UTF-8: the right number of continuation bytes */
    bool goes_on = (head[i] & 0xc0) == 0x80;
    if (goes_on != (more > 0) || head[i] >= 0xf8) return false;
    if (goes_on) more--;
    if (head[i] >= 0xc0) more = head[i] >= 0xf0 ? 3 : head[i] >= 0xe0 ? 2 : 1;
  }
  return got >= TEXT_BYTES_LEAST;
}

/* import_fuzz.c -- LINK: import job tokens plan base
 * Bytes as a file of another tool, the first byte says of what kind: whatever they are, reading
 * ends, with a job or with diagnostics, every leaf is in the report, and nothing reaches a terminal
 * raw. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/job/import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  static const char *const ends[] = {"json", "yaml", "toml", "sh", "py"};
  static const char *const tools[] = {"deepspeed",  "trainer", "accelerate", "megatron",
                                      "torchtitan", "nanogpt", "llmc"};
  const char *reader = getenv("FUZZ_READER"); /* 0 to 4: every input goes to this reader */
  const size_t kind = (reader ? (size_t)atoi(reader) : size_bytes ? bytes[0] : 0) % 5;
  static FILE *ignored;
  char path[64];
  if (!ignored) ignored = fopen("/dev/null", "w");
  if (size_bytes == 0) return 0;
  snprintf(path, sizeof path, "/tmp/import_fuzz_%d.%s", (int)getpid(), ends[kind]);
  FILE *file = fopen(path, "wb");
  if (!file) abort();
  fwrite(bytes + 1, 1, size_bytes - 1, file);
  fclose(file);
  Compile *c = compile_new("specs");
  const char *const files[] = {path};
  Import *im = import_read(c, &(ImportAsk){files, 1, NULL, tools[bytes[0] / 5 % 7], NULL, 0, NULL});
  for (int32_t i = 0; im && i < im->leaves.count; i++)
    if (im->leaves.at[i].how == HOW_OPEN) abort();
  for (const char *p = im ? import_job(im) : ""; *p; p++)
    if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f) abort();
  if (im) import_json(im, ignored);
  diags_print(&c->diags, ignored, false);
  compile_free(c);
  unlink(path);
  return 0;
}

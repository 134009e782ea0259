/* A thousand damages of the newest checkpoint, by a seed: a bit flipped, a file cut, absent,
 * longer, swapped with another, or of another save. Each is named by its file and, among elements,
 * by a tensor; it is never taken, and the checkpoint before it is used. LINK: runtime plan_builder
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/checkpoint_set.h"
#include "tests/unit/plan_builder.h"

enum { RANKS = 4, DAMAGES = 1000, FILES = RANKS + 1, FILE_BYTES_MAX = 1 << 16 };

static char folder[64], skipped_text[STATUS_TEXT_BYTES];
static PlanBuilder builder;
static uint64_t seed = 20261127;

static uint32_t below(uint32_t most) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % most;
}

static void set_part_bytes(PlanBuilder *b) {
  const uint32_t key = build_string(b, STATE_PART_KEY), text = build_string(b, "256 B");
  PlanSetting setting = {.effect = SETTING_SAFE, .kind = SETTING_TEXT, .key = key, .text = text};
  setting.origin = build_string(b, "job: a.lua:1:1");
  build_settings(b, setting);
}

/* A file of a checkpoint: its parts, and then its manifest. */
static const char *name_of(int32_t file, char name[PART_FILE_NAME_BYTES]) {
  part_file_name(name, file);
  return file < RANKS ? name : MANIFEST_FILE;
}

typedef struct Bytes {
  uint8_t at[FILE_BYTES_MAX];
  size_t count;
} Bytes;

static void path_of(char path[256], int step, int32_t file) {
  char name[PART_FILE_NAME_BYTES];
  (void)snprintf(path, 256, "%.64s/step_%08d/%.40s", folder, step, name_of(file, name));
}

static void get(Bytes *bytes, int step, int32_t file) {
  char path[256];
  path_of(path, step, file);
  FILE *in = fopen(path, "rb");
  if (!in) abort();
  bytes->count = fread(bytes->at, 1, sizeof bytes->at, in);
  (void)fclose(in);
  CHECK(bytes->count > 0 && bytes->count < sizeof bytes->at);
}

static void put(const Bytes *bytes, int step, int32_t file) {
  char path[256];
  path_of(path, step, file);
  FILE *out = fopen(path, "wb");
  if (!out || fwrite(bytes->at, 1, bytes->count, out) != bytes->count || fclose(out) != 0) abort();
}

static Bytes whole[2][FILES], damaged;

typedef enum Kind { FLIP, CUT, LONGER, ABSENT, SWAPPED, OF_ANOTHER_SAVE, KIND_COUNT } Kind;

/* Puts a damaged file in place. Returns whether a tensor must be named: a bit among elements. */
static bool make_damage(Kind kind, int32_t file) {
  char path[256];
  damaged = whole[1][file];
  bool is_element = false;
  if (kind == FLIP) {
    size_t at = below((uint32_t)damaged.count);
    damaged.at[at] ^= (uint8_t)(1u << below(8));
    uint64_t header;
    memcpy(&header, whole[1][file].at, sizeof header);
    is_element = file < RANKS && at >= 8 + header && at + 64 < damaged.count;
  }
  if (kind == CUT) damaged.count = below((uint32_t)damaged.count);
  if (kind == LONGER) damaged.count += 1 + below(100);
  if (kind == SWAPPED) damaged = whole[1][file < RANKS ? (file + 1) % RANKS : 0];
  if (kind == OF_ANOTHER_SAVE) damaged = whole[0][file];
  put(&damaged, 2, file);
  path_of(path, 2, file);
  if (kind == ABSENT) CHECK(unlink(path) == 0);
  return is_element;
}

static void note_skipped(const char *why) {
  (void)snprintf(skipped_text, sizeof skipped_text, "%s", why);
}

static void check_one(const Plan *plan, Kind kind, int32_t file) {
  static const char *const kinds[] = {"flip",   "cut",     "longer",
                                      "absent", "swapped", "of another save"};
  char name[PART_FILE_NAME_BYTES];
  CheckpointSet set;
  Status status = {0};
  skipped_text[0] = '\0';
  bool names_tensor = make_damage(kind, file);
  bool found = set_open_newest(&set, folder, plan, note_skipped, &status);
  bool is_older = found && set.at[0].manifest.facts.step == 1;
  bool is_named = strstr(skipped_text, name_of(file, name)) != NULL &&
                  (!names_tensor || strstr(skipped_text, "tensor ") != NULL);
  if (!is_older || !is_named)
    printf("%s of %s: %s%s\n", kinds[kind], name_of(file, name),
           is_older ? "" : "it was taken: ", skipped_text);
  CHECK(is_older && is_named);
  set_close(&set);
  put(&whole[1][file], 2, file);
}

static void save(const Plan *plan, int step) {
  Status status = {0};
  uint64_t bytes = plan_arena_bytes(plan, &plan->classes[0], TIER_DEVICE);
  uint8_t *arena = malloc(bytes + 1);
  for (uint64_t i = 0; i < bytes; i++)
    arena[i] = (uint8_t)(i * 31 + (uint64_t)step);
  SetSave all = {.plan = plan, .arena = arena, .step = step, .data_sum = 77, .publish = true};
  CHECK(set_save(all, &status));
  CHECK_TEXT(status.text, "");
  free(arena);
  for (int32_t file = 0; file < FILES; file++)
    get(&whole[step - 1][file], step, file);
}

static void test_damage(void) {
  build_example(&builder, (ExampleOptions){3, 1, 1, 1, false});
  build_word(&builder, JOB_checkpoint_dir, folder);
  *build_count(&builder, JOB_checkpoint_keep) = 2;
  builder.axes[0].size = builder.classes[0].rank_count = builder.bounds[0].end = RANKS;
  build_strides(&builder);
  set_part_bytes(&builder);
  Plan plan = build_view(&builder);
  TEST("a thousand damages are named, and none is taken") {
    save(&plan, 1);
    save(&plan, 2);
    for (int32_t i = 0; i < DAMAGES; i++)
      check_one(&plan, i % 2 == 0 ? FLIP : (Kind)below(KIND_COUNT), (int32_t)below(FILES));
    CheckpointSet set;
    Status status = {0};
    CHECK(set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(set.at[0].manifest.facts.step, 2); /* nothing else was wrong with it */
    set_close(&set);
  }
}

int main(void) {
  char command[128];
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_damage_%d", (int)getpid());
  test_damage();
  build_free(&builder);
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}

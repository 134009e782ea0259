/* Checkpoints: what is saved comes back; damage, other models and other seeds are refused.
 * LINK: runtime plan_builder */
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/checksum.h"
#include "tests/unit/check.h"
#include "tests/unit/checkpoint_set.h"
#include "tests/unit/plan_builder.h"

static char folder[64], path[256], skipped_text[STATUS_TEXT_BYTES];
static int32_t skipped_count;
static PlanBuilder builder;
static Mesh mesh;
static const uint64_t data_sum = 77;
static const CheckpointChanges no_changes;

static Plan example(uint32_t layers) {
  build_free(&builder);
  memset(&builder, 0, sizeof builder);
  build_example(&builder, (ExampleOptions){layers, 1, 1, 1, false});
  build_word(&builder, JOB_checkpoint_dir, folder);
  *build_count(&builder, JOB_checkpoint_keep) = 2;
  Plan plan = build_view(&builder);
  Status status;
  CHECK(mesh_read(&mesh, &plan, &status));
  return plan;
}

static const char *step_path(int step) {
  (void)snprintf(path, sizeof path, "%s/step_%08d.ckpt", folder, step);
  return path;
}

static uint8_t *filled_arena(const Plan *plan, int seed) {
  uint64_t bytes = plan_arena_bytes(plan, &plan->classes[0], TIER_DEVICE);
  uint8_t *arena = malloc(bytes + 1); /* not nothing, for an empty one */
  for (uint64_t i = 0; i < bytes; i++)
    arena[i] = (uint8_t)(i * 31 + (uint64_t)seed + i / 256);
  return arena;
}

static void save_step(const Plan *plan, int step) {
  CheckpointStore store;
  Status status = {0};
  uint8_t *arena = filled_arena(plan, step);
  CHECK(checkpoint_store_open(&store, plan, &mesh, 0, data_sum, &status));
  CHECK(checkpoint_store_list(&store, &status));
  CHECK(set_write(&store, arena, step, &status));
  CHECK(access(step_path(step), F_OK) != 0 || step == 9);
  CHECK(checkpoint_publish(&store, step, &status));
  checkpoint_remove_oldest(&store, step);
  CHECK_TEXT(status.text, "");
  checkpoint_store_close(&store);
  free(arena);
}

static bool same_layer(void *context, const PlanTensor *tensor, int32_t layer, uint64_t offset) {
  (void)layer;
  uint8_t *const *arena = context;
  return memcmp(arena[0] + offset, arena[1] + offset, tensor->size_bytes) == 0;
}

static void note_skipped(const char *why) {
  skipped_count++;
  (void)snprintf(skipped_text, sizeof skipped_text, "%s", why);
}

static void test_round_trip(void) {
  Plan plan = example(3);
  CheckpointSet checkpoint;
  Status status = {0};
  TEST("what is saved comes back") {
    save_step(&plan, 7);
    CHECK(set_open(&checkpoint, step_path(7), &plan, &status));
    CHECK_INT(checkpoint.at[0].header->step, 7);
    CHECK_INT(checkpoint.at[0].header->samples, 70);
    CHECK_INT(checkpoint.at[0].header->lasting.updates, 6);
    CHECK_INT(checkpoint.at[0].header->entry_count, 3 * (1 + 3));
    CHECK(set_match(&checkpoint, &plan, &mesh, &no_changes, &status));
    uint8_t *arena[2] = {filled_arena(&plan, 7), filled_arena(&plan, 99)};
    CHECK(!checkpoint_each(&plan, &plan.classes[0], same_layer, arena));
    CHECK(set_restore(&checkpoint, &arena[1], &plan, &status));
    CHECK(checkpoint_each(&plan, &plan.classes[0], same_layer, arena));
    free(arena[0]);
    free(arena[1]);
    set_close(&checkpoint);
  }
  TEST("only the newest are kept") {
    save_step(&plan, 8);
    save_step(&plan, 9);
    CHECK(access(step_path(7), F_OK) != 0);
    CHECK(access(step_path(8), F_OK) == 0 && access(step_path(9), F_OK) == 0);
  }
}

/* Eight ranks: state differs along dp (2) and pp (2), not along tp (2), which is between. */
static Plan example_in_parts(uint32_t dp) {
  Plan plan = example(3);
  builder.axes[0] = build_axis_named(&builder, "dp", dp);
  build_axes(&builder, build_axis_named(&builder, "tp", 2));
  build_axes(&builder, build_axis_named(&builder, "pp", 2));
  build_strides(&builder);
  builder.classes[0].rank_count = 4 * dp;
  builder.classes[0].bounds_count = 3;
  builder.bounds[0].end = dp;
  build_bounds(&builder, (PlanBound){0, 2}), build_bounds(&builder, (PlanBound){0, 2});
  *build_count(&builder, JOB_state_axes) = 5;
  plan = build_view(&builder);
  Status status;
  CHECK(mesh_read(&mesh, &plan, &status));
  return plan;
}

static const int32_t writers[] = {0, 1, 4, 5};

/* How many of the writers remove what is too old. */
static int removers = 4;

/* Every writing rank's file; rank 0's name comes last, or not at all. */
static void save_parts(const Plan *plan, int step, bool publish) {
  CheckpointStore store[4];
  Status status = {0};
  for (int i = 0; i < 4; i++)
    CHECK(checkpoint_store_open(&store[i], plan, &mesh, writers[i], data_sum, &status));
  CHECK(checkpoint_store_list(&store[0], &status));
  for (int i = 3; i >= 0; i--) {
    uint8_t *arena = filled_arena(plan, step + writers[i]);
    store[i].steps = store[0].steps;
    CHECK(set_write(&store[i], arena, step, &status));
    free(arena);
  }
  if (publish) CHECK(checkpoint_publish(&store[0], step, &status));
  for (int i = 0; publish && i < removers; i++)
    checkpoint_remove_oldest(&store[i], step);
  CHECK_TEXT(status.text, "");
  for (int i = 0; i < 4; i++)
    checkpoint_store_close(&store[i]);
}

static const char *part_path(int step, int rank) {
  (void)snprintf(path, sizeof path, "%.64s/step_%08d.ckpt.r%05d", folder, step, rank);
  return path;
}

static void check_restored(const Plan *plan, CheckpointSet *set, int step) {
  static const int32_t owner[8] = {0, 1, 0, 1, 4, 5, 4, 5};
  uint8_t *state[8];
  Status status = {0};
  for (int32_t rank = 0; rank < 8; rank++)
    state[rank] = filled_arena(plan, 99);
  CHECK(set_restore(set, state, plan, &status));
  for (int32_t rank = 0; rank < 8; rank++) {
    uint8_t *arena[2] = {filled_arena(plan, step + owner[rank]), state[rank]};
    CHECK_INT(checkpoint_writer(&mesh, 5, rank), owner[rank]);
    CHECK_INT(set->at[rank].is_reader, owner[rank] == rank);
    CHECK(checkpoint_each(plan, &plan->classes[0], same_layer, arena));
    free(arena[0]);
    free(arena[1]);
  }
}

static void test_parts(void) {
  Plan plan = example_in_parts(2);
  CheckpointSet set;
  Status status = {0};
  TEST("state in parts: every rank gets its own back, the first of equal ones writes") {
    save_parts(&plan, 21, true);
    save_parts(&plan, 22, true);
    CHECK(access(part_path(22, 2), F_OK) != 0 && access(part_path(22, 5), F_OK) == 0);
    CHECK(set_open(&set, step_path(22), &plan, &status));
    CHECK(set_match(&set, &plan, &mesh, &no_changes, &status));
    check_restored(&plan, &set, 22);
    set_close(&set);
  }
  TEST("a part that is found damaged while it is loaded is so for every rank") {
    uint8_t *state[8];
    CHECK(set_open(&set, step_path(22), &plan, &status));
    damage(part_path(22, 4), -1);
    for (int32_t rank = 0; rank < 8; rank++)
      state[rank] = filled_arena(&plan, 99);
    CHECK(!set_restore(&set, state, &plan, &status));
    CHECK_INT(set.fault, CHECKPOINT_DAMAGED);
    CHECK(strstr(status.text, ".ckpt.r00004: tensor"));
    for (int32_t rank = 0; rank < 8; rank++)
      free(state[rank]);
    set_close(&set);
    damage(part_path(22, 4), -1); /* as it was */
  }
  TEST("parts are removed with their checkpoint, each by the rank that wrote it") {
    removers = 3;
    save_parts(&plan, 23, true);
    CHECK(access(step_path(21), F_OK) != 0 && access(part_path(21, 4), F_OK) != 0);
    CHECK(access(part_path(21, 5), F_OK) == 0);
    removers = 4;
    CHECK(access(part_path(22, 5), F_OK) == 0);
  }
  TEST("a checkpoint counts only with all its parts, whole and of one step") {
    save_parts(&plan, 24, false); /* rank 0 was lost before it could give the name */
    skipped_count = 0;
    CHECK(set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(set.at[0].header->step, 23);
    CHECK_INT(skipped_count, 0);
    set_close(&set);
    damage(part_path(23, 4), -1);
    CHECK(set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(set.at[0].header->step, 22);
    CHECK(skipped_count == 1 && strstr(skipped_text, ".ckpt.r00004: tensor"));
    set_close(&set);
    char other[sizeof path];
    CHECK(snprintf(other, sizeof other, "%s", part_path(23, 4)) > 0);
    CHECK(rename(part_path(22, 4), other) == 0);
    CHECK(!set_open(&set, step_path(23), &plan, &status));
    CHECK(strstr(status.text, "r00004: is not of the same checkpoint as"));
    CHECK(!set_open(&set, step_path(22), &plan, &status));
    CHECK(strstr(status.text, "r00004: cannot be read"));
    save_parts(&plan, 23, true);
    CHECK(!set_open(&set, part_path(23, 4), &plan, &status));
    CHECK(strstr(status.text, "is not rank 0's part"));
  }
}

static void test_parts_elsewhere(void) {
  Plan plan = example_in_parts(2);
  CheckpointSet set;
  Status status = {0};
  TEST("another mesh is refused, with both, and so is whole state for parts") {
    CHECK(set_open(&set, step_path(23), &plan, &status));
    plan = example_in_parts(4);
    CHECK(!set_match(&set, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text,
                 "was saved in parts on dp 2 x tp 2 x pp 2, the plan is for dp 4 x tp 2 x pp 2"));
    CHECK(strstr(status.text, "start anew"));
    plan = example(3);
    CHECK(!set_match(&set, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text, "the plan is for one rank with whole state"));
    set_close(&set);
    save_step(&plan, 30);
    CHECK(set_open(&set, step_path(30), &plan, &status));
    plan = example_in_parts(2);
    CHECK(!set_match(&set, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text, "was saved whole, the plan is for dp 2"));
    set_close(&set);
  }
  TEST("parts are set aside with their checkpoint, and without it") {
    CheckpointAside aside;
    CHECK(checkpoint_set_aside(folder, 21, &aside, &status));
    CHECK_INT(aside.count, 2); /* 23 and 30; of 22 and 24 there are only parts */
    CHECK(access(part_path(24, 5), F_OK) != 0);
    CHECK(access(part_path(23, 5), F_OK) != 0);
  }
}

static void test_mismatch(void) {
  CheckpointSet checkpoint;
  Status status = {0};
  TEST("another model and another size are refused by name") {
    Plan plan = example(2);
    CHECK(set_open(&checkpoint, step_path(9), &plan, &status));
    CHECK(!set_match(&checkpoint, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text, "h.*.w"));
    plan = example(4);
    CHECK(!set_match(&checkpoint, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text, "h.*.w"));
    plan = example(3);
    builder.tensors[3].elements--;
    CHECK(!set_match(&checkpoint, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text, "256 elements of fp32 there, 255 of fp32 in the plan"));
    set_close(&checkpoint);
  }
}

static void test_damage(void) {
  Plan plan = example(3);
  CheckpointSet checkpoint;
  Status status = {0};
  TEST("one damaged bit anywhere is seen") {
    static const long places[] = {0, 8, 12, 24, 50, 78, 100, 600, 700, 1500, 4000, -1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      save_step(&plan, 9);
      damage(step_path(9), places[i]);
      bool opened = set_open(&checkpoint, step_path(9), &plan, &status);
      if (opened) printf("damage at %ld was not seen\n", places[i]);
      CHECK(!opened);
      CHECK(strstr(status.text, "step_00000009.ckpt") && !strchr(status.text, '\n'));
    }
  }
  TEST("a damaged or cut checkpoint is skipped, with a line, for the one before") {
    skipped_count = 0;
    CHECK(set_open_newest(&checkpoint, folder, &plan, note_skipped, &status));
    CHECK_INT(checkpoint.at[0].header->step, 8);
    CHECK_INT(skipped_count, 1);
    CHECK(strstr(skipped_text, "is damaged"));
    set_close(&checkpoint);
    CHECK_INT(truncate(step_path(8), 500), 0);
    status.code = 5;
    CHECK(!set_open_newest(&checkpoint, folder, &plan, note_skipped, &status));
    CHECK_INT(status.code, 0);
    CHECK(!set_open(&checkpoint, step_path(8), &plan, &status));
    CHECK_INT(truncate(step_path(8), 10), 0);
    CHECK(!set_open(&checkpoint, step_path(8), &plan, &status));
    CHECK(strstr(status.text, "too short"));
  }
}

/* Overwrites a field of the header and signs it again, as a forger would. */
static void forge(const char *file_path, size_t offset, const void *value, size_t count) {
  CheckpointHeader header;
  FILE *file = fopen(file_path, "r+b");
  if (!file || fread(&header, sizeof header, 1, file) != 1) abort();
  memcpy((char *)&header + offset, value, count);
  header.header_sum = checksum(&header, offsetof(CheckpointHeader, header_sum));
  rewind(file);
  if (fwrite(&header, sizeof header, 1, file) != 1 || fclose(file) != 0) abort();
}

/* The same for the first axis of the mesh that a part speaks of. */
static void forge_mesh(const char *file_path, uint32_t size) {
  static uint8_t bytes[1 << 16];
  FILE *file = fopen(file_path, "r+b");
  if (!file || fread(bytes, 1, sizeof bytes, file) < sizeof(CheckpointHeader)) abort();
  CheckpointHeader *header = (CheckpointHeader *)(void *)bytes;
  CheckpointPart *part = (CheckpointPart *)(void *)(header + 1);
  size_t table_bytes = sizeof *part + header->entry_count * sizeof(CheckpointEntry) +
                       header->setting_count * sizeof(CheckpointSetting) + header->text_bytes;
  part->size[0] = size;
  header->table_sum = checksum(part, table_bytes);
  rewind(file);
  if (fwrite(bytes, sizeof *header + table_bytes, 1, file) != 1 || fclose(file) != 0) abort();
  forge(file_path, offsetof(CheckpointHeader, table_sum), &header->table_sum,
        sizeof header->table_sum);
}

/* The bytes that the process has mapped. */
static int64_t address_space_bytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld", &pages) != 1) abort();
  fclose(file);
  return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void test_forged(void) {
  Plan plan = example(3);
  CheckpointSet set;
  Status status = {0};
  TEST("a header that promises more than its file has reserves nothing") {
    static const uint64_t text_bytes = (uint64_t)8 << 30;
    static const uint32_t entries = 0x7fffffff;
    int64_t before = address_space_bytes();
    save_step(&plan, 40);
    forge(step_path(40), offsetof(CheckpointHeader, text_bytes), &text_bytes, sizeof text_bytes);
    CHECK(!set_open(&set, step_path(40), &plan, &status));
    CHECK(strstr(status.text, "its table of tensors is damaged"));
    CHECK_INT(unlink(step_path(40)), 0);
    save_step(&plan, 40);
    forge(step_path(40), offsetof(CheckpointHeader, entry_count), &entries, sizeof entries);
    CHECK(!set_open(&set, step_path(40), &plan, &status));
    CHECK(strstr(status.text, "its table of tensors is damaged"));
    CHECK_INT(set.fault, CHECKPOINT_DAMAGED);
    CHECK(address_space_bytes() - before < (int64_t)64 << 20);
    CHECK_INT(unlink(step_path(40)), 0);
  }
  TEST("nor does one that is long but empty") {
    static const uint64_t file_bytes = (uint64_t)4 << 30, text_bytes = (uint64_t)3 << 30;
    save_step(&plan, 40);
    CHECK_INT(truncate(step_path(40), (off_t)file_bytes), 0);
    forge(step_path(40), offsetof(CheckpointHeader, file_bytes), &file_bytes, sizeof file_bytes);
    forge(step_path(40), offsetof(CheckpointHeader, text_bytes), &text_bytes, sizeof text_bytes);
    CHECK(!set_open(&set, step_path(40), &plan, &status));
    CHECK(strstr(status.text, "its table of tensors is damaged"));
    CHECK_INT(unlink(step_path(40)), 0);
  }
  TEST("a mesh of a million ranks is refused by the plan's, not reserved for") {
    plan = example_in_parts(2);
    save_parts(&plan, 41, true);
    forge_mesh(step_path(41), 1 << 18);
    int64_t before = address_space_bytes();
    CHECK(set_open(&set, step_path(41), &plan, &status));
    CHECK_TEXT(set.at[5].path, step_path(41)); /* and nothing beside it */
    CHECK(address_space_bytes() - before < (int64_t)64 << 20);
    CHECK(!set_match(&set, &plan, &mesh, &no_changes, &status));
    CHECK(strstr(status.text, "was saved in parts on dp 262144 x tp 2 x pp 2"));
    set_close(&set);
  }
}

static void test_unread(void) {
  Plan plan = example(3);
  CheckpointSet set;
  Status status = {0};
  char folder_path[sizeof path];
  TEST("what cannot be read is not taken for damaged: no older one replaces it") {
    save_step(&plan, 50);
    (void)snprintf(folder_path, sizeof folder_path, "%s", step_path(51));
    CHECK_INT(mkdir(folder_path, 0777), 0);
    skipped_count = 0;
    CHECK(!set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK_INT(set.fault, CHECKPOINT_UNREAD);
    CHECK_INT(skipped_count, 0);
    CHECK(strstr(status.text, "step_00000051.ckpt: cannot be read: Is a directory"));
    CHECK_INT(rmdir(folder_path), 0);
  }
  TEST("a directory that cannot be read is not an empty one") {
    CHECK(!set_open_newest(&set, step_path(50), &plan, note_skipped, &status));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK(!checkpoint_set_aside(step_path(50), 1, &(CheckpointAside){0}, &status));
    CHECK_INT(status.code, STATUS_WORLD);
  }
  TEST("another format is refused in a line, and not skipped") {
    static const uint32_t old = 1;
    forge(step_path(50), offsetof(CheckpointHeader, version), &old, sizeof old);
    skipped_count = 0;
    CHECK(!set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(status.code, STATUS_USER);
    CHECK_INT(skipped_count, 0);
    CHECK(strstr(status.text, "has checkpoint format 1, this program reads 5"));
    CHECK_INT(unlink(step_path(50)), 0);
  }
}

static void set_setting(SettingEffect effect, const char *key, const char *value,
                        const char *origin) {
  const uint32_t at = build_string(&builder, key), text = build_string(&builder, value);
  PlanSetting setting = {.effect = effect, .kind = SETTING_TEXT, .key = at, .text = text};
  setting.origin = build_string(&builder, origin);
  for (uint32_t i = 0; i < builder.settings_count; i++)
    if (strcmp(builder.strings + builder.settings[i].key, key) == 0) {
      if (builder.settings[i].effect != SETTING_SAFE) setting.effect = builder.settings[i].effect;
      builder.settings[i] = setting;
      return;
    }
  build_settings(&builder, setting);
}

/* A job with one key of each effect. */
static void set_settings(void) {
  set_setting(SETTING_EXPERIMENT, "train.seed", "1", "default");
  set_setting(SETTING_EXPERIMENT, "train.context", "256", "derived: model.positions");
  set_setting(SETTING_EXPERIMENT, PLAN_DATA_KEY, "a.u8", "job: a.lua:1:1");
  set_setting(SETTING_MODEL, "model", "gpt2", "job: a.lua:2:1");
  set_setting(SETTING_EXPERIMENT, PLAN_GRAPH_KEY, "1234", "derived: hash");
  set_setting(SETTING_SCHEDULE, "optimizer.lr", "0.001", "job: a.lua:3:1");
  set_setting(SETTING_LAYOUT, "parallel.zero", "1", "default");
  set_setting(SETTING_SAFE, "log.every", "10", "default");
}

/* The change against the checkpoint of step 60 when `key` is `value`; "" if there is none. */
static const char *changed(const char *key, const char *value, const char *origin, uint64_t data) {
  static char text[512];
  CheckpointSet set;
  CheckpointChanges changes;
  Status status = {0};
  Plan plan = example(3);
  set_settings();
  if (key) set_setting(SETTING_EXPERIMENT, key, value, origin);
  plan = build_view(&builder);
  CHECK(set_open(&set, step_path(60), &plan, &status));
  CHECK(checkpoint_changes(&set.at[0], &plan, data, &changes, &status));
  (void)checkpoint_changes_text(&changes, ~0u, false, text, sizeof text);
  checkpoint_changes_free(&changes);
  set_close(&set);
  return text;
}

static void test_changes(void) {
  Plan plan = example(3);
  set_settings();
  plan = build_view(&builder);
  save_step(&plan, 60);
  TEST("what differs is told by key, and what follows from other keys is not") {
    CHECK_TEXT(changed(NULL, NULL, NULL, data_sum), "");
    CHECK_TEXT(changed("train.seed", "2", "-D train.seed=2", data_sum), "train.seed 1 -> 2");
    CHECK_TEXT(changed("new.key", "3", "default", data_sum), "");
    CHECK_TEXT(changed("new.key", "3", "-D new.key=3", data_sum), "new.key none -> 3");
  }
  TEST("a derived value without a cause among the keys is told itself") {
    CHECK_TEXT(changed("train.context", "512", "derived: model.positions", data_sum),
               "train.context 256 -> 512");
  }
  TEST("data are what they hold, models what they compute") {
    CHECK_TEXT(changed(PLAN_DATA_KEY, "b.u8", "-D", data_sum), "");
    CHECK_TEXT(changed(PLAN_DATA_KEY, "b.u8", "-D", 78), "data.train a.u8 -> b.u8");
    CHECK_TEXT(changed(NULL, NULL, NULL, 78), "data.train a.u8 -> other content");
    CHECK_TEXT(changed("model", "./mine.lua", "-D", data_sum), "");
    CHECK_TEXT(changed(PLAN_GRAPH_KEY, "99", "derived: hash", data_sum),
               "the model file (what it computes differs)");
  }
  TEST("a list that is too long says how much is missing") {
    char text[64];
    CheckpointChange many[40];
    for (int i = 0; i < 40; i++)
      many[i] = (CheckpointChange){"train.seed", "1", "2", SETTING_EXPERIMENT, false};
    CheckpointChanges changes = {.at = many, .count = 40};
    CHECK_INT(checkpoint_changes_text(&changes, ~0u, false, text, sizeof text), 40);
    CHECK_TEXT(text, "train.seed 1 -> 2, train.seed 1 -> 2, and 38 more");
  }
  CHECK_INT(unlink(step_path(60)), 0);
}

static void test_aside(void) {
  Plan plan = example(3);
  CheckpointAside aside;
  Status status = {0};
  TEST("checkpoints of steps that will be written anew are moved, earlier ones stay") {
    save_step(&plan, 11);
    save_step(&plan, 12);
    CHECK(checkpoint_set_aside(folder, 12, &aside, &status));
    CHECK_INT(aside.count, 1);
    CHECK(access(step_path(11), F_OK) == 0);
    CHECK(access(step_path(12), F_OK) != 0);
    (void)snprintf(path, sizeof path, "%.64s/earlier.1/step_00000012.ckpt", folder);
    CHECK(access(path, F_OK) == 0);
    CHECK(unlink(path) == 0 && rmdir(aside.path) == 0);
    CHECK(checkpoint_set_aside(folder, 12, &aside, &status));
    CHECK_INT(aside.count, 0);
  }
}

static bool is_there(const char *name) {
  (void)snprintf(path, sizeof path, "%.64s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static void make_empty(const char *name) {
  (void)snprintf(path, sizeof path, "%.64s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file && fclose(file) == 0);
}

static void test_left_overs(void) {
  Plan plan = example(3);
  CheckpointAside aside;
  Status status = {0};
  TEST("what an interrupted save has left is removed, whole checkpoints stay") {
    make_empty("step_00000011.ckpt.r00001");     /* its rank 0 is there */
    make_empty("step_00000012.ckpt.new");        /* had not got its name */
    make_empty("step_00000012.ckpt.r00001.new"); /* the same of another rank */
    make_empty("step_00000009.ckpt.r00003");     /* rank 0's was removed, or never named */
    make_empty("notes.new");                     /* not ours */
    CHECK(checkpoint_set_aside(folder, 12, &aside, &status));
    CHECK_INT(aside.count, 0);
    CHECK(is_there("step_00000011.ckpt") && is_there("step_00000011.ckpt.r00001"));
    CHECK(is_there("notes.new"));
    CHECK(!is_there("step_00000012.ckpt.new") && !is_there("step_00000012.ckpt.r00001.new"));
    CHECK(!is_there("step_00000009.ckpt.r00003"));
    CHECK(unlink(step_path(11)) == 0);
  }
  TEST("of the folders earlier.N the newest stay, and numbers go on") {
    for (int i = 0; i < 5; i++) {
      save_step(&plan, 12);
      CHECK(checkpoint_set_aside(folder, 1, &aside, &status));
      CHECK_INT(aside.removed, i < CHECKPOINT_EARLIER_KEEP ? 0 : 1);
    }
    CHECK(!is_there("earlier.1") && !is_there("earlier.2"));
    CHECK(is_there("earlier.3/step_00000012.ckpt") && is_there("earlier.5/step_00000012.ckpt"));
  }
  TEST("a folder earlier.N with a file of somebody else is not removed") {
    make_empty("earlier.3/mine");
    save_step(&plan, 12);
    CHECK(checkpoint_set_aside(folder, 1, &aside, &status));
    CHECK_INT(aside.removed, 0);
    CHECK(is_there("earlier.3/mine") && is_there("earlier.6/step_00000012.ckpt"));
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_checkpoint_%d", (int)getpid());
  TEST("the checksum sees length, order and every byte") {
    uint8_t bytes[100] = {0};
    uint64_t seen[100];
    for (size_t i = 0; i < 100; i++)
      seen[i] = checksum(bytes, i);
    for (size_t i = 0; i < 100; i++) {
      bytes[i] = 1;
      CHECK(checksum(bytes, 100) != checksum((uint8_t[100]){0}, 100));
      bytes[i] = 0;
      for (size_t k = 0; k < i; k++)
        CHECK(seen[i] != seen[k]);
    }
  }
  test_round_trip();
  test_mismatch();
  test_damage();
  test_aside();
  test_left_overs();
  test_parts();
  test_parts_elsewhere();
  test_forged();
  test_unread();
  test_changes();
  build_free(&builder);
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}

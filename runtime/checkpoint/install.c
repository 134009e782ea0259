/* install.c -- places the elements of a checkpoint of any layout, or of a model's files, in the
 * state of every rank.
 *
 * A tensor is filled window by window. For each piece of the file that a window needs, one of the
 * ranks that have the same elements reads and packs them, and shares them; then each of these ranks
 * places them. A part is always read by the same member, so that its blocks are read once.
 *
 *   part (dp 2, tp 1)  0 1 2 3 | 4 5 6 7         row-major ranges of the whole
 *   window (tp 2)      0 1 . . 4 5 . .           packed: 0 1, shared, placed; then 4 5
 *
 * A rank whose reading fails shares what it has, because the others wait for it; afterwards all
 * learn that it is useless. */
#include <stdlib.h>
#include <string.h>

#include "kernels/math/bf16.h"
#include "kernels/math/f16.h"
#include "kernels/math/split.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/checkpoint/recode.h"
#include "runtime/checkpoint/take.h"
#include "runtime/checkpoint/weights.h"

/* A window is 8 MiB at most: the widest dtype has 8 bytes. */
enum { WINDOW_ELEMENTS = 1 << 20 };
_Static_assert(WINDOW_ELEMENTS * 8 <= DEVICE_WINDOW_BYTES, "a window of a device");

typedef struct Installing {
  const CheckpointSearch *search;
  const Checkpoint *from;   /* NULL: from `files` */
  const WeightFiles *files; /* of a model */
  const CheckpointTarget *target;
  Reader reader;
  int32_t coordinate[PLAN_AXES_MAX];
  uint8_t *packed;
  uint8_t *whole; /* a transposed tensor of a model's files, as it lies there; NULL: none yet */
  int64_t whole_bytes; /* room */
  float *numbers;      /* of a window of moments that are coded anew; NULL: there was none yet */
  Recoding recoding;
  CheckpointFault *fault;
  Status *status;
} Installing;

/* The conversion from a checkpoint's dtype to a tensor's. */
typedef enum DtypeForm {
  FORM_AS_IS,
  FORM_ROUND, /* to another dtype, to nearest, ties to even */
  FORM_HIGH,  /* to the upper half of a split master */
  FORM_LOW,   /* to the lower half */
  FORM_NUMBER /* codes to numbers, and these to codes of other blocks */
} DtypeForm;

/* A layer of a tensor being filled. */
typedef struct Filling {
  Installing *in;
  const PlanTensor *tensor;
  int32_t layer;
  uint32_t source;     /* item of the checkpoint */
  WeightSource weight; /* or tensor of the model's files */
  DType from;
  DtypeForm form;
  int64_t from_width, to_width;
  uint32_t same_axes;
  int32_t member;  /* among the ranks that have the same elements */
  StatePiece want; /* of the window */
  uint8_t *window;
  int64_t window_first;   /* element of the layer's memory */
  int64_t placed;         /* elements of the window */
  struct Filling *beside; /* a tensor of the same elements that the window is placed in, too */
  bool is_over;           /* the device, memory or the other ranks have failed */
} Filling;

/* ---- one stored piece for one window */

typedef struct Pack {
  Filling *filling;
  const StateStored *stored;
  uint8_t *to;   /* where to pack */
  int64_t count; /* packed so far */
} Pack;

static bool count_run(void *context, int64_t from, int64_t to, int64_t count) {
  (void)from, (void)to;
  ((Pack *)context)->count += count;
  return true;
}

static bool pack_run(void *context, int64_t from, int64_t to, int64_t count) {
  (void)to;
  Pack *pack = context;
  const Filling *f = pack->filling;
  Installing *in = f->in;
  int64_t width = dtype_bytes(f->from);
  uint8_t *at = pack->to + pack->count * width;
  pack->count += count;
  return reader_read(&in->reader, pack->stored, (uint64_t)(from * width), at,
                     (size_t)(count * width), in->fault, in->status);
}

/* Codes are read where numbers leave room. */
static void pack_numbers(Pack *pack) {
  const Filling *f = pack->filling;
  Installing *in = f->in;
  pack->to = in->packed + WINDOW_ELEMENTS * f->from_width;
  if (state_common(&pack->stored->piece, &f->want, pack_run, pack))
    (void)recode_numbers(&in->recoding, &in->reader, pack->stored, &f->want, pack->to,
                         (float *)(void *)in->packed, in->fault, in->status);
}

/* The conversion that loading a model does to most elements; one loop that is vectorised. */
static void widen(const uint8_t *packed, uint8_t *at, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint16_t half;
    memcpy(&half, packed + i * (int64_t)sizeof half, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    memcpy(at + i * (int64_t)sizeof bits, &bits, sizeof bits);
  }
}

/* The same from a file in fp32 to weights in bf16. */
static void narrow(const uint8_t *packed, uint8_t *at, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float value;
    memcpy(&value, packed + i * (int64_t)sizeof value, sizeof value);
    const uint16_t half = bf16_from_float(value);
    memcpy(at + i * (int64_t)sizeof half, &half, sizeof half);
  }
}

static float number_at(DType dtype, const uint8_t *at) {
  uint16_t half;
  float value;
  memcpy(&half, at, sizeof half);
  if (dtype == DTYPE_BF16) return bf16_to_float(half);
  if (dtype == DTYPE_F16) return f16_to_float(half);
  memcpy(&value, at, sizeof value);
  return value;
}

static void put_number(const Filling *f, float value, uint8_t *at) {
  DType dtype = (DType)f->tensor->dtype;
  if (dtype == DTYPE_F32) {
    memcpy(at, &value, sizeof value);
    return;
  }
  uint16_t half = f->form == FORM_HIGH  ? split_high(value)
                  : f->form == FORM_LOW ? (uint16_t)split_low(value)
                  : dtype == DTYPE_BF16 ? bf16_from_float(value)
                                        : f16_from_float(value);
  memcpy(at, &half, sizeof half);
}

/* Loading would leave other bytes than memory has. */
static void refuse_difference(const Filling *f, int64_t at) {
  const Installing *in = f->in;
  if (*in->fault != CHECKPOINT_WHOLE) return;
  const long long element = f->window_first + at;
  *in->fault = CHECKPOINT_DAMAGED;
  (void)status_fail(in->status, STATUS_WORLD,
                    "%s: tensor %s as it was read back differs from memory, first at element "
                    "%lld of rank %d's part",
                    in->from->path, in->from->manifest.state.item[f->source].name, element,
                    in->search->rank);
}

static void compare_run(const Filling *f, const uint8_t *packed, int64_t to, int64_t count) {
  uint8_t number[8];
  for (int64_t i = 0; i < count; i++) {
    const uint8_t *from = packed + i * f->from_width;
    if (f->form != FORM_AS_IS) put_number(f, number_at(f->from, from), number);
    if (memcmp(f->form == FORM_AS_IS ? from : number, f->window + (to + i) * f->to_width,
               (size_t)f->to_width) == 0)
      continue;
    refuse_difference(f, to + i);
    return;
  }
}

static bool place_run(void *context, int64_t from, int64_t to, int64_t count) {
  (void)from;
  Pack *pack = context;
  const Filling *f = pack->filling;
  const uint8_t *packed = f->in->packed + pack->count * f->from_width;
  uint8_t *at = f->window + to * f->to_width;
  pack->count += count;
  if (f->form == FORM_NUMBER) memcpy(f->in->numbers + to, packed, (size_t)(count * f->from_width));
  if (f->form == FORM_NUMBER) return true;
  if (f->in->target->compares) compare_run(f, packed, to, count);
  if (f->in->target->compares) return true;
  if (f->form == FORM_AS_IS) memcpy(at, packed, (size_t)(count * f->to_width));
  const bool rounds = f->form == FORM_ROUND;
  const bool widens = rounds && f->from == DTYPE_BF16 && f->tensor->dtype == DTYPE_F32;
  const bool narrows = rounds && f->from == DTYPE_F32 && f->tensor->dtype == DTYPE_BF16;
  if (widens) widen(packed, at, count);
  if (narrows) narrow(packed, at, count);
  for (int64_t i = 0; f->form != FORM_AS_IS && !widens && !narrows && i < count; i++)
    put_number(f, number_at(f->from, packed + i * f->from_width), at + i * f->to_width);
  return true;
}

/* The member that reads a part: the rank that wrote it where the degrees are the same, and where
 * they are not one of that number. So a part is read by one rank, or by few. */
static int32_t reader_of(const Filling *f, int32_t number) {
  const Mesh *mesh = f->in->search->mesh;
  int32_t coordinate[PLAN_AXES_MAX], member = 0;
  state_coordinates(f->in->search->plan, number % mesh->rank_count, coordinate);
  for (int32_t i = 0; i < mesh->axis_count; i++)
    if ((f->same_axes >> i & 1u) != 0) member = member * mesh->size[i] + coordinate[i];
  return member;
}

/* Packed elements go from the rank that has read them to all that have the same. */
static bool share(Filling *f, int32_t member, uint8_t *packed, int64_t count) {
  Comm *comm = f->in->search->comm;
  if (comm->ops->share_bytes(comm, f->same_axes, member, packed, (size_t)(count * f->from_width)))
    return true;
  f->in->status->code = STATUS_ECHO;
  f->is_over = true;
  return false;
}

/* The rank that reads a window of a tensor of a model's files: one reads all of a chunk, which is
 * then summed on the way. */
static int32_t weight_reader(const Filling *f, int64_t first) {
  const int32_t members =
      mesh_group(f->in->search->mesh, f->same_axes, f->in->search->rank).member_count;
  const int64_t chunk = f->weight.is_transposed ? 0 : first * f->from_width / WEIGHTS_CHUNK_BYTES;
  return (int32_t)((chunk + f->weight.place.tensor->first_byte / 4096) %
                   (members > 0 ? members : 1));
}

/* A transposed tensor, of which a window has a strip of each row, is read at once if this rank
 * needs all of it and it is not too large. */
static bool read_whole(Filling *f, WeightReading reading) {
  enum { WHOLE_MOST = 64 << 20 };
  Installing *in = f->in;
  const int64_t bytes = f->weight.place.tensor->bytes;
  if (!f->weight.is_transposed || f->weight.bytes != NULL || bytes > WHOLE_MOST ||
      bytes / f->from_width != f->tensor->elements)
    return true;
  if (bytes > in->whole_bytes) {
    free(in->whole);
    in->whole = malloc((size_t)bytes);
    in->whole_bytes = in->whole != NULL ? bytes : 0;
  }
  if (in->whole == NULL) return true; /* run by run, then */
  f->weight.bytes = in->whole;
  return weight_read_whole(&f->weight, reading, in->whole, in->status);
}

static void place_packed(Filling *f, const StatePiece *want) {
  const StatePiece whole = weight_whole(want);
  Pack put = {f, NULL, NULL, 0};
  (void)state_common(&whole, want, place_run, &put);
  f->placed += put.count;
}

/* Fills `count` elements of memory from `first` on with a tensor of a model's files. Elements that
 * lie in memory in the order of the file are read straight to their place. */
static bool take_weight(Filling *f, int64_t first, int64_t count) {
  Installing *in = f->in;
  const WeightReading reading = {in->target->threads, in->target->sums};
  const bool as_it_lies =
      f->form == FORM_AS_IS && f->want.range_count == count && f->beside == NULL;
  uint8_t *packed = as_it_lies ? f->window : in->packed;
  if (f->want.range_count == 0) return true;
  const int32_t member = weight_reader(f, first);
  if (f->member == member && *in->fault == CHECKPOINT_WHOLE &&
      !(read_whole(f, reading) && weight_read(&f->weight, &f->want, reading, packed, in->status)))
    *in->fault = CHECKPOINT_UNREAD;
  if (!share(f, member, packed, f->want.range_count)) return false;
  if (as_it_lies)
    f->placed += count;
  else
    place_packed(f, &f->want);
  return true;
}

static bool take_stored(void *context, const StateStored *stored) {
  Filling *f = context;
  Installing *in = f->in;
  int32_t member = reader_of(f, stored->number);
  Pack all = {f, stored, in->packed, 0}, read = all, put = all;
  (void)state_common(&stored->piece, &f->want, count_run, &all);
  if (all.count > WINDOW_ELEMENTS) return false;
  bool reads = f->member == member && *in->fault == CHECKPOINT_WHOLE;
  if (reads && f->form == FORM_NUMBER) pack_numbers(&read);
  if (reads && f->form != FORM_NUMBER)
    (void)state_common(&stored->piece, &f->want, pack_run, &read);
  if (!share(f, member, in->packed, all.count)) return false;
  (void)state_common(&stored->piece, &f->want, place_run, &put);
  f->placed += put.count;
  return true;
}

/* ---- a tensor */

static bool refuse_source(const Filling *f) {
  const Installing *in = f->in;
  if (*in->fault != CHECKPOINT_WHOLE) return true;
  if (in->from == NULL)
    return status_fail(in->status, STATUS_OURS, "tensor %s was not placed",
                       f->weight.place.tensor->name);
  *in->fault = CHECKPOINT_DAMAGED;
  (void)status_fail(in->status, STATUS_USER, "%s: has not each element of tensor %s once",
                    in->from->path, in->from->manifest.state.item[f->source].name);
  return true;
}

static uint8_t *layer_at(const Filling *f, int32_t layer) {
  const int32_t index = layer < 0 ? 0 : layer - f->tensor->layer_first;
  return f->in->target->arena[f->tensor->tier] + f->tensor->offset +
         (uint64_t)index * f->tensor->layer_stride;
}

/* The window that was read for one tensor is placed in another, too. */
static bool fill_beside(const Filling *f, int64_t first, int64_t count) {
  Filling *beside = f->beside;
  const Installing *in = f->in;
  const TierWindow to = {in->target->device, (Tier)beside->tensor->tier,
                         layer_at(beside, f->layer) + first * beside->to_width};
  beside->window =
      tier_window_open(&to, (uint64_t)(count * beside->to_width), ACCESS_UPDATE, in->status);
  if (beside->window == NULL) return false;
  if (f->want.range_count < count) memset(beside->window, 0, (size_t)(count * beside->to_width));
  place_packed(beside, &f->want);
  return tier_window_close(&to, in->status);
}

/* Elements [first, first + count) of the tensor's memory. Padding in between stays as init or the
 * saved run has left it; with weights of a model it is 0. */
static bool fill_window(Filling *f, const StatePiece *piece, uint8_t *at, int64_t first,
                        int64_t count) {
  Installing *in = f->in;
  const TierWindow to = {in->target->device, (Tier)f->tensor->tier, at + first * f->to_width};
  f->want = state_piece_window(piece, first, count);
  f->placed = 0;
  if (f->want.range_count == 0 && in->from != NULL) return true;
  f->window_first = first;
  f->window = tier_window_open(&to, (uint64_t)(count * f->to_width),
                               in->target->compares ? ACCESS_READ : ACCESS_UPDATE, in->status);
  if (f->window == NULL) return false;
  if (in->from == NULL && f->want.range_count < count)
    memset(f->window, 0, (size_t)(count * f->to_width));
  bool found = in->from == NULL
                   ? take_weight(f, first, count)
                   : state_sources(&in->from->manifest.state, f->source, &f->want, take_stored, f);
  if (f->is_over) return false;
  if (!tier_window_close(&to, in->status)) return false;
  if (f->beside != NULL && !fill_beside(f, first, count)) return false;
  return (found && f->placed == f->want.range_count) || refuse_source(f);
}

/* Bytes that belong at `at` of an arena: they are written, or compared. */
static bool put_bytes(const Filling *f, uint32_t tier, uint8_t *at, const void *bytes,
                      int64_t count) {
  const Installing *in = f->in;
  const TierWindow to = {in->target->device, (Tier)tier, at};
  uint8_t *window = tier_window_open(&to, (uint64_t)count,
                                     in->target->compares ? ACCESS_READ : ACCESS_WRITE, in->status);
  if (window == NULL) return false;
  if (!in->target->compares) memcpy(window, bytes, (size_t)count);
  if (in->target->compares && memcmp(window, bytes, (size_t)count) != 0) refuse_difference(f, 0);
  return tier_window_close(&to, in->status);
}

/* Codes of elements [first, first + count), which begin with a block, and their maxima; `maxima` is
 * where those of this layer begin. */
static bool recode_window(Filling *f, const StatePiece *piece, uint8_t *codes, uint32_t tier,
                          uint8_t *maxima, int64_t first, int64_t count) {
  Installing *in = f->in;
  f->want = state_piece_window(piece, first, count);
  f->placed = 0;
  f->window_first = first;
  if (f->want.range_count == 0) return true;
  memset(in->numbers, 0, (size_t)count * sizeof *in->numbers);
  bool found = state_sources(&in->from->manifest.state, f->source, &f->want, take_stored, f);
  if (f->is_over) return false;
  if (!found || f->placed != f->want.range_count) return refuse_source(f);
  float *most = (float *)(void *)(in->packed + WINDOW_ELEMENTS);
  recode_blocks((BufferKind)f->tensor->kind, in->numbers, count, in->packed, most);
  const int64_t width = sizeof *most, blocks = (count + CODES_BLOCK - 1) / CODES_BLOCK;
  return put_bytes(f, f->tensor->tier, codes + first, in->packed, count) &&
         put_bytes(f, tier, maxima + first / CODES_BLOCK * width, most, blocks * width);
}

_Static_assert(WINDOW_ELEMENTS % CODES_BLOCK == 0, "a window of whole blocks");

static bool recode_layer(Filling *f, const StatePiece *piece, int32_t layer, uint8_t *codes) {
  Installing *in = f->in;
  const State *state = &in->from->manifest.state;
  const BufferKind kind = recode_maxima(f->tensor->kind);
  const PlanTensor *maxima =
      checkpoint_tensor(in->search->plan, in->target->class, f->tensor->name, kind, layer);
  in->recoding.codes = f->source;
  in->recoding.maxima = state_find(state, state->item[f->source].name, kind);
  if (maxima == NULL || in->recoding.maxima == state->item_count)
    return status_fail(in->status, STATUS_OURS, "%s: codes of tensor %s have no maxima",
                       in->from->path, state->item[f->source].name);
  if (in->numbers == NULL) in->numbers = malloc(WINDOW_ELEMENTS * sizeof *in->numbers);
  if (in->numbers == NULL)
    return status_fail(in->status, STATUS_WORLD, "not enough memory to read the state");
  f->from_width = sizeof *in->numbers;
  int32_t index = layer < 0 ? 0 : layer - maxima->layer_first;
  uint8_t *at =
      in->target->arena[maxima->tier] + maxima->offset + (uint64_t)index * maxima->layer_stride;
  for (int64_t first = 0; first < f->tensor->elements; first += WINDOW_ELEMENTS) {
    int64_t left = f->tensor->elements - first;
    if (!recode_window(f, piece, codes, maxima->tier, at, first,
                       left < WINDOW_ELEMENTS ? left : WINDOW_ELEMENTS))
      return false;
  }
  return true;
}

/* A plan that does not train has no master to tell how weights were rounded. */
static bool is_of_split(const Plan *plan) {
  const PlanSetting *master = plan_setting(plan, "precision.master");
  return master != NULL && strcmp(plan_string(plan, master->text), "split") == 0;
}

static DtypeForm form_of(const Plan *plan, const PlanClass *class, const PlanTensor *tensor,
                         int32_t layer, DType from) {
  if (tensor->dtype == DTYPE_I16) return FORM_LOW;
  const PlanTensor *master = checkpoint_tensor(plan, class, tensor->name, BUFFER_MASTER, layer);
  bool is_half = tensor->kind == BUFFER_PARAM &&
                 (master != NULL ? master->dtype == DTYPE_I16 : is_of_split(plan));
  return is_half ? FORM_HIGH : from == (DType)tensor->dtype ? FORM_AS_IS : FORM_ROUND;
}

/* The place of the elements of a tensor's layer. */
static bool find_source(Filling *f, const char *name, int32_t layer) {
  const Installing *in = f->in;
  if (in->from == NULL) {
    if (!weight_source(in->files, f->tensor, layer, &f->weight, in->status)) return false;
    f->from = f->weight.dtype;
    return true;
  }
  const State *state = &in->from->manifest.state;
  f->source = checkpoint_source(state, name, f->tensor);
  if (f->source == state->item_count)
    return status_fail(in->status, STATUS_OURS, "%s: tensor %s was not compared", in->from->path,
                       name);
  f->from = state_saved_dtype(state_tensor(state, &state->item[f->source]));
  return true;
}

/* The master of a weight, or the weight of a master, that has the same elements: of a model's files
 * both are placed when these are read. NULL: none has. */
static const PlanTensor *same_elements(const Installing *in, const PlanTensor *tensor) {
  const BufferKind other = tensor->kind == BUFFER_PARAM ? BUFFER_MASTER : BUFFER_PARAM;
  const PlanTensor *found = checkpoint_tensor(in->search->plan, in->target->class, tensor->name,
                                              other, tensor->layer_first);
  const bool is_same = in->from == NULL && found != NULL && found->layout == tensor->layout &&
                       found->elements == tensor->elements &&
                       found->layer_first == tensor->layer_first &&
                       found->layer_count == tensor->layer_count;
  return is_same ? found : NULL;
}

static void begin_beside(const Filling *f, Filling *beside, const PlanTensor *tensor) {
  *beside = *f;
  beside->tensor = tensor;
  beside->form = form_of(f->in->search->plan, f->in->target->class, tensor, f->layer, f->from);
  beside->to_width = dtype_bytes((DType)tensor->dtype);
}

static bool fill_layer(Installing *in, const PlanTensor *tensor, int32_t layer, const char *name) {
  const Plan *plan = in->search->plan;
  const PlanClass *class = in->target->class;
  const PlanTensor *master = same_elements(in, tensor);
  Filling f = {.in = in, .tensor = tensor, .layer = layer}, beside;
  StatePiece piece;
  if (!find_source(&f, name, layer)) return false;
  if (!state_piece(plan, tensor->layout, in->coordinate, &piece))
    return status_fail(in->status, STATUS_OURS, "tensor %s lies in no box of its dims", name);
  if (in->from == NULL && weight_whole(&piece).range_count != f.weight.place.tensor->elements)
    return status_fail(in->status, STATUS_OURS, "plan: tensor %s has other sizes in the files",
                       name);
  f.form = form_of(plan, class, tensor, layer, f.from);
  f.from_width = dtype_bytes(f.from);
  f.to_width = dtype_bytes((DType)tensor->dtype);
  f.same_axes = mesh_same_axes(plan, class, tensor);
  f.member = mesh_group(in->search->mesh, f.same_axes, in->search->rank).member;
  uint8_t *at = layer_at(&f, layer);
  if (master != NULL) begin_beside(&f, &beside, master);
  if (master != NULL) f.beside = &beside;
  if (in->from != NULL && !checkpoint_same_blocks(&in->from->manifest.state, name, plan, tensor)) {
    f.form = FORM_NUMBER;
    return tensor->dtype != DTYPE_U8 || recode_layer(&f, &piece, layer, at); /* maxima, too */
  }
  for (int64_t first = 0; first < tensor->elements; first += WINDOW_ELEMENTS) {
    int64_t left = tensor->elements - first;
    if (!fill_window(&f, &piece, at, first, left < WINDOW_ELEMENTS ? left : WINDOW_ELEMENTS))
      return false;
  }
  return true;
}

static bool fill_tensor(Installing *in, const PlanTensor *tensor) {
  for (uint32_t i = 0; i < tensor->layer_count; i++) {
    int32_t layer = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)i;
    char *name = state_layer_name(in->search->plan, tensor, layer);
    bool filled = name != NULL ? fill_layer(in, tensor, layer, name)
                               : status_fail(in->status, STATUS_WORLD, "not enough memory");
    free(name);
    if (!filled) return false;
  }
  return true;
}

/* Moments begin as init has left them when only weights are read. A master that is placed with its
 * weight is not asked for alone. */
static bool is_wanted(const Installing *in, const PlanTensor *tensor) {
  if (tensor->kind == BUFFER_MASTER && same_elements(in, tensor) != NULL) return false;
  if (in->from == NULL || in->target->weights_only)
    return tensor->kind == BUFFER_PARAM || tensor->kind == BUFFER_MASTER;
  return state_kind_of(tensor->kind) != NULL;
}

static bool fill_state(Installing *in) {
  const Plan *plan = in->search->plan;
  const PlanClass *class = in->target->class;
  state_coordinates(plan, mesh_number(in->search->mesh, in->search->rank), in->coordinate);
  in->packed = malloc((size_t)WINDOW_ELEMENTS * 8);
  bool good = in->packed != NULL ||
              status_fail(in->status, STATUS_WORLD, "not enough memory to read the state");
  for (uint32_t i = 0; good && i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    if (is_wanted(in, tensor)) good = fill_tensor(in, tensor);
  }
  free(in->packed);
  free(in->whole);
  free(in->numbers);
  free(in->recoding.most);
  return good;
}

bool weights_fill(const CheckpointSearch *search, const WeightFiles *files,
                  const CheckpointTarget *target, CheckpointFault *fault, Status *status) {
  Installing in = {
      .search = search, .files = files, .target = target, .fault = fault, .status = status};
  return fill_state(&in);
}

bool checkpoint_install(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status) {
  Installing in = {
      .search = search, .from = own, .target = target, .fault = fault, .status = status};
  reader_open(&in.reader, own);
  bool good = fill_state(&in);
  reader_close(&in.reader);
  return good;
}

/* apart.c -- documents of a sample's tokens. Files list where each begins, in order. */
#include "runtime/data/apart.h"

#include "runtime/plan/plan_inputs.h"
#include "runtime/plan/plan_job.h"

/* The number of documents that begin before token `at` of a file. */
static int64_t begun_before(const TokenFile *file, int64_t at) {
  int64_t low = 0, high = file->document_count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (tokens_document(file, middle) < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void documents_fill(const Samples *samples, const PlanInput *input, int64_t first, int32_t *out) {
  const int64_t count = input->sample_elements;
  const bool is_place = input->role == INPUT_PLACES;
  const TokenFile *file = NULL;
  int64_t next = 0, begin = 0, file_first = 0; /* next: the document that begins next in the file */
  for (int64_t i = 0; i < count; i++) {
    const int64_t token = first + i;
    if (token >= samples->tokens) {
      out[i] = is_place ? 0 : (int32_t)i;
      continue;
    }
    if (!file || token - file_first >= file->count) {
      const SampleFile *here = samples_file(samples, token);
      file = &here->tokens;
      file_first = here->first;
      next = begun_before(file, token - file_first);
    }
    if (next < file->document_count && tokens_document(file, next) == token - file_first) {
      begin = i;
      next++;
    }
    out[i] = (int32_t)(is_place ? i - begin : begin);
  }
}

void documents_leave_out(const Samples *samples, int64_t first, int64_t count, int32_t *out) {
  int64_t at = first;
  const int64_t end = first + count < samples->tokens ? first + count : samples->tokens;
  while (at < end) {
    const SampleFile *here = samples_file(samples, at);
    const TokenFile *file = &here->tokens;
    const int64_t file_end = here->first + file->count < end ? here->first + file->count : end;
    for (int64_t d = begun_before(file, at - here->first); d < file->document_count; d++) {
      const int64_t token = here->first + tokens_document(file, d);
      if (token >= file_end) break;
      out[token - first] = -1;
    }
    at = file_end;
  }
}

/* ---- where samples come from */

SampleSource samples_source(const Samples *samples, int64_t number) {
  const SampleGroup *group = samples_group(samples, number);
  const TokPacking *packing = &group->packing;
  const bool is_packed = packing->windows > 0;
  const int64_t context = job_sample_tokens(samples->plan), nth = number - group->first_sample;
  const TokPiece *piece = is_packed ? &packing->piece[packing->first_piece[nth]] : NULL;
  const int64_t token = group->first_token + (is_packed ? piece->first : nth * context);
  const SampleFile *file = samples_file(samples, token);
  const int32_t at = (int32_t)(file - samples->file);
  const bool is_mix = samples->mix.count > 0;
  SampleSource source = {.source = is_mix ? (int32_t)(group - samples->group) : at,
                         .file = at,
                         .token = token - file->first,
                         .count = is_packed ? piece->length : context};
  source.sample = is_packed || is_mix ? nth : source.token / context;
  source.document = begun_before(&file->tokens, source.token + 1) - 1;
  return source;
}

/* ---- packed windows */

/* `first`: the token of all files that the piece begins with. */
static bool fill_piece(const Samples *samples, const PlanInput *input, const TokPiece *piece,
                       int64_t first, int64_t at, int32_t *out, Status *status) {
  const bool is_target = input->role == INPUT_TARGETS;
  if (input_is_of_documents(input->role)) {
    for (int32_t i = 0; i < piece->length; i++)
      out[at + i] = input->role == INPUT_PLACES ? i : (int32_t)at;
    return true;
  }
  int64_t count = is_target && !piece->goes_on ? piece->length - 1 : piece->length;
  if (count < piece->length) out[at + count] = -1;
  return samples_read(samples, first + is_target, count, is_target, out + at, status);
}

bool packed_fill(const Samples *samples, const PlanInput *input, int64_t number, int32_t *out,
                 Status *status) {
  const SampleGroup *group = samples_group(samples, number);
  const int64_t nth = number - group->first_sample;
  const int64_t *first_piece = group->packing.first_piece;
  int64_t at = 0;
  for (int64_t p = first_piece[nth]; p < first_piece[nth + 1]; p++) {
    const TokPiece *piece = &group->packing.piece[p];
    if (!fill_piece(samples, input, piece, group->first_token + piece->first, at, out, status))
      return false;
    at += piece->length;
  }
  for (; at < input->sample_elements; at++)
    out[at] = input->role == INPUT_TARGETS ? -1 : input->role == INPUT_BEGINS ? (int32_t)at : 0;
  return true;
}

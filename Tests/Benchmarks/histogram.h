// A log-linear histogram of nanoseconds (the idea of HdrHistogram): 128 buckets for each power of two, so that a
// quantile read from it is at most 0.8 % above the true one, in a fixed 34 KB.
#pragma once

#include <stdint.h>
#include <string.h>

enum { HISTOGRAM_SUB_BITS = 7, HISTOGRAM_SUB = 1 << HISTOGRAM_SUB_BITS, HISTOGRAM_MAGNITUDES = 35 };

struct histogram {
  uint64_t counts[HISTOGRAM_MAGNITUDES * HISTOGRAM_SUB];
  uint64_t total, max;
};

static inline void histogram_reset(struct histogram *h) { memset(h, 0, sizeof *h); }

static inline void histogram_record(struct histogram *h, uint64_t ns) {
  // Below 128 ns a bucket is 1 ns wide; each further power of two doubles the width.
  unsigned magnitude = ns < HISTOGRAM_SUB ? 0 : (unsigned)(64 - __builtin_clzll(ns)) - HISTOGRAM_SUB_BITS;
  uint64_t index = magnitude == 0 ? ns : magnitude * HISTOGRAM_SUB + (ns >> (magnitude - 1)) - HISTOGRAM_SUB;
  uint64_t last = HISTOGRAM_MAGNITUDES * HISTOGRAM_SUB - 1;
  h->counts[index < last ? index : last]++;
  h->total++;
  if (ns > h->max) h->max = ns;
}

// The upper edge of the bucket that holds quantile q (0 < q <= 1), in microseconds; 0 when nothing was recorded.
static inline double histogram_quantile_us(const struct histogram *h, double q) {
  if (h->total == 0) return 0;
  uint64_t rank = (uint64_t)(q * (double)h->total + 0.999999), seen = 0;
  if (rank == 0) rank = 1;
  for (uint64_t i = 0; i < HISTOGRAM_MAGNITUDES * HISTOGRAM_SUB; i++) {
    seen += h->counts[i];
    if (seen < rank) continue;
    uint64_t magnitude = i / HISTOGRAM_SUB, sub = i % HISTOGRAM_SUB;
    uint64_t upper = magnitude == 0 ? sub : ((sub + HISTOGRAM_SUB + 1) << (magnitude - 1)) - 1;
    return (double)(upper < h->max ? upper : h->max) / 1e3;
  }
  return (double)h->max / 1e3;
}

/* Transformer inference: encoding of sources, decoding steps, the best words of a step, and a checksum of weights. One
   thread; float32, and int8 where the processor has VNNI. SIMD uses the compiler's vector types. library.py builds this
   file; transformer.py and gemm.py mirror its structs, so change them together. */

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512VNNI__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
enum { LANES = 16, ROWS = 8 };
#else
enum { LANES = 8, ROWS = 4 };
#endif
enum { COLUMNS = 2 * LANES, STRETCH = 8 * LANES, MOST = 8, PAD = 0 };

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int32_t ints __attribute__((vector_size(4 * LANES), aligned(4)));
#define INLINE static inline __attribute__((always_inline))

INLINE vec choose(ints mask, vec one, vec other) { return (vec)((mask & (ints)one) | (~mask & (ints)other)); }

/* ---- matmuls */

typedef struct {
    const float *weight;   /* (panels, in, COLUMNS), or NULL with int8 weights */
    const int8_t *coarse;  /* int8 weights (panels, in / 4, COLUMNS, 4), or NULL */
    const float *scale;    /* int8: scale of each column, (panels, COLUMNS) */
    const float *shift;    /* int8: the result for inputs that are all 128, (panels, COLUMNS) */
    const float *bias;     /* (panels, COLUMNS) */
    int32_t in, out;
} Linear;

/* Add `added`, apply the ReLU if `rectify`, and store a row of a tile, at most `width` columns. */
INLINE void finish(vec left, vec right, float *y, const float *added, int rectify, int width) {
    float whole[COLUMNS];
    if (width >= COLUMNS) {
        if (added) {
            left += *(const vec *)added;
            right += *(const vec *)(added + LANES);
        }
        if (rectify) {
            left = (vec)((ints)left & ~(left < 0)); /* NaN stays NaN */
            right = (vec)((ints)right & ~(right < 0));
        }
        *(vec *)y = left;
        *(vec *)(y + LANES) = right;
        return;
    }
    *(vec *)whole = left;
    *(vec *)(whole + LANES) = right;
    for (int c = 0; c < width; c++) {
        float one = whole[c] + (added ? added[c] : 0.0f);
        y[c] = rectify && one < 0 ? 0.0f : one;
    }
}

/* Multiply a few rows with the weights of one panel. `rows` is a compile-time constant, so that all sums stay in
   registers. Prefetch a part of the next panel from `soon` on, `stride` bytes at a time, to hide memory latency. */
INLINE void tile(const int rows, const Linear *l, int panel, const char *soon, int stride, const float *x, float *y,
                 const int32_t *to, const float *added, int rectify) {
    const float *w = l->weight + (int64_t)panel * l->in * COLUMNS, *bias = l->bias + panel * COLUMNS;
    vec left[MOST], right[MOST];
    for (int r = 0; r < rows; r++) left[r] = *(const vec *)bias, right[r] = *(const vec *)(bias + LANES);
    for (int k = 0; k < l->in; k++, w += COLUMNS, soon += stride) {
        __builtin_prefetch(soon);
        const vec one = *(const vec *)w, other = *(const vec *)(w + LANES);
        for (int r = 0; r < rows; r++) {
            left[r] += one * x[(int64_t)r * l->in + k];
            right[r] += other * x[(int64_t)r * l->in + k];
        }
    }
    for (int r = 0; r < rows; r++)
        finish(left[r], right[r], y + (int64_t)(to ? to[r] : r) * l->out, added ? added + (int64_t)r * l->out : 0, rectify,
               l->out - panel * COLUMNS);
}

#ifdef __AVX512VNNI__
INLINE void coarse_tile(const int rows, const Linear *l, int panel, const char *soon, int stride, const uint8_t *x,
                        const float *scales, float *y, const int32_t *to, const float *added, int rectify) {
    const int8_t *w = l->coarse + (int64_t)panel * l->in * COLUMNS;
    ints left[MOST], right[MOST];
    for (int r = 0; r < rows; r++) left[r] = right[r] = (ints){0};
    for (int k = 0; k < l->in; k += 4, w += 4 * COLUMNS, soon += stride) {
        __builtin_prefetch(soon);
        const ints one = *(const ints *)w, other = *(const ints *)(w + 4 * LANES);
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + (int64_t)r * l->in + k, 4);
            const ints all = four - (ints){0};
            left[r] = (ints)_mm512_dpbusd_epi32((__m512i)left[r], (__m512i)all, (__m512i)one);
            right[r] = (ints)_mm512_dpbusd_epi32((__m512i)right[r], (__m512i)all, (__m512i)other);
        }
    }
    const int at = panel * COLUMNS;
    for (int r = 0; r < rows; r++) {
        vec first = (__builtin_convertvector(left[r], vec) * *(const vec *)(l->scale + at) - *(const vec *)(l->shift + at)) * scales[r];
        vec last = (__builtin_convertvector(right[r], vec) * *(const vec *)(l->scale + at + LANES) - *(const vec *)(l->shift + at + LANES)) * scales[r];
        finish(first + *(const vec *)(l->bias + at), last + *(const vec *)(l->bias + at + LANES),
               y + (int64_t)(to ? to[r] : r) * l->out, added ? added + (int64_t)r * l->out : 0, rectify, l->out - at);
    }
}

/* Quantize each row to uint8, with zero at 128 and a scale from the row's largest absolute value. */
static void coarsen(const float *x, int rows, int width, uint8_t *coarse, float *scales) {
    for (int r = 0; r < rows; r++, x += width, coarse += width) {
        vec most = {0}, odd = {0};
        for (int k = 0; k < width; k += LANES) {  /* a width is a multiple of LANES, see prepacked.py */
            const vec one = *(const vec *)(x + k), size = (vec)((ints)one & 0x7fffffff);
            most = choose(size > most, size, most);
            odd += one - one;  /* NaN if a number is NaN or infinite */
        }
        float top = 0, wrong = 0;
        for (int k = 0; k < LANES; k++) top = most[k] > top ? most[k] : top, wrong += odd[k];
        scales[r] = top / 127.0f + wrong;
        const float by = top > 0 && wrong == 0 ? 127.0f / top : 0.0f;
        for (int k = 0; k < width; k++) coarse[k] = (uint8_t)(int32_t)(x[k] * by + 128.5f);
    }
}
#else /* never called, see coarse_products() */
#define coarse_tile(...) ((void)coarse)
#define coarsen(...) ((void)0)
#endif

#define TILES(call)            \
    switch (left) {            \
        case 1: call(1); break; \
        case 2: call(2); break; \
        case 3: call(3); break; \
        case 4: call(4); break; \
        case 5: call(5); break; \
        case 6: call(6); break; \
        case 7: call(7); break; \
        default: call(ROWS);    \
    }

/* y (rows, out) = x (rows, in) Wᵀ + b [+ added] [ReLU if `rectify`]. Row r is stored in row to[r] of y, or in row r if
   `to` is NULL. With int8 weights, `room` holds rows · (in + 4) bytes. */
void product(const Linear *l, const float *x, int rows, float *y, const int32_t *to, const float *added, int rectify,
             void *room) {
    const int panels = (l->out + COLUMNS - 1) / COLUMNS;
    float *scales = room;
    uint8_t *const coarse = room ? (uint8_t *)(scales + rows) : 0;
    const char *weights = l->coarse ? (const char *)l->coarse : (const char *)l->weight;
    const int64_t size = (int64_t)l->in * COLUMNS * (l->coarse ? 1 : 4);
    if (l->coarse) coarsen(x, rows, l->in, coarse, scales);
    if (rows == 0) return;
    const int tiles = (rows + ROWS - 1) / ROWS;
    const int stride = (int)sizeof(float) * COLUMNS / tiles; /* bytes to prefetch per row of this panel */
    for (int p = 0; p < panels; p++)
        for (int r = 0; r < rows; r += ROWS) {
            const int left = rows - r < ROWS ? rows - r : ROWS;
            const int64_t at = (int64_t)r * l->out + p * COLUMNS, into = to ? p * COLUMNS : at;
            const int32_t *places = to ? to + r : 0;
            const char *soon = weights + (p + 1) * size + size / tiles * (r / ROWS);
            const float *more = added ? added + at : 0;
            if (l->coarse) {
#define CALL(n) coarse_tile(n, l, p, soon, stride, coarse + (int64_t)r * l->in, scales + r, y + into, places, more, rectify)
                TILES(CALL)
#undef CALL
            } else {
#define CALL(n) tile(n, l, p, soon, stride, x + (int64_t)r * l->in, y + into, places, more, rectify)
                TILES(CALL)
#undef CALL
            }
        }
}

/* ---- norms, exponentials, sums */

typedef struct {
    const float *weight, *bias; /* weight NULL: no norm */
    float eps;
} Norm;

/* e^x for x <= 0, with an error of about 1e-7; 0 on underflow, NaN for NaN. */
INLINE vec exponential(vec x) {
    const ints small = x < -87.0f, none = x != x;
    const vec shift = (vec){0} + 12582912.0f; /* 1.5 · 2^23: adding it rounds to integers */
    const vec there = choose(small | none, (vec){0}, x), turns = there * 1.44269504f + shift;
    const vec whole = turns - shift, rest = (there - whole * 0.693359375f) + whole * 2.12194440e-4f;
    vec sum = (vec){0} + 1.9875691500e-4f;
    sum = sum * rest + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * rest * rest + rest + 1.0f;
    const vec power = (vec)(((ints)turns - 0x4b400000 + 127) << 23);
    return (vec)((ints)(sum * power) & ~small) + (vec)((ints)x & none);
}

INLINE float total(vec x) {
    float sums[LANES];
    *(vec *)sums = x;
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) sums[k] += sums[k + half];
    return sums[0];
}

INLINE float inner(const float *x, const float *y, int width) {
    vec sums = {0};
    int k = 0;
    for (; k + LANES <= width; k += LANES) sums += *(const vec *)(x + k) * *(const vec *)(y + k);
    float sum = total(sums);
    for (; k < width; k++) sum += x[k] * y[k];
    return sum;
}

INLINE float sum_of(const float *x, int width) {
    vec sums = {0};
    int k = 0;
    for (; k + LANES <= width; k += LANES) sums += *(const vec *)(x + k);
    float sum = total(sums);
    for (; k < width; k++) sum += x[k];
    return sum;
}

static void norm(const Norm *n, const float *x, int rows, int width, float *y) {
    for (int r = 0; r < rows; r++, x += width, y += width) {
        const float mean = sum_of(x, width) / (float)width;
        for (int k = 0; k < width; k++) y[k] = x[k] - mean;
        const float by = 1.0f / sqrtf(inner(y, y, width) / (float)width + n->eps);
        if (n->bias)
            for (int k = 0; k < width; k++) y[k] = y[k] * by * n->weight[k] + n->bias[k];
        else
            for (int k = 0; k < width; k++) y[k] = y[k] * by * n->weight[k];
    }
}

/* Replace scores by their softmax; `scores` has room for a multiple of LANES. */
static void softmax(float *scores, int count) {
    float most = -INFINITY, sum = 0;
    for (int s = 0; s < count; s++) most = scores[s] > most ? scores[s] : most;
    if (most == -INFINITY) most = 0; /* every score is -inf or NaN */
    for (int s = count; s % LANES; s++) scores[s] = -INFINITY;
    vec sums = {0};
    for (int s = 0; s < count; s += LANES) sums += *(vec *)(scores + s) = exponential(*(vec *)(scores + s) - most);
    sum = total(sums);
    const float by = sum == 0 ? 0.0f : 1.0f / sum;
    for (int s = 0; s < count; s++) scores[s] *= by;
}

/* ---- a decoding step */

typedef struct {
    Norm before_self, after_self, before_cross, after_cross, before_feed, after_feed;
    Linear joined, self_output, query, cross_output, inner, outer;
} Layer;

typedef struct {
    const float *words; /* (V, W) */
    const Layer *layers;
    Norm norm;
    Linear output;
    float scale; /* of the embeddings */
    int32_t count, width, heads, deep, known; /* layers; W; heads; widest output of a layer's matmuls; V */
} Decoder;

typedef struct {
    const int64_t *tokens;  /* (N,); rows with PAD are skipped */
    const float *places;    /* position encodings (T, W), or NULL */
    const int64_t *ages;    /* (N,): the position of each row, or NULL: t */
    const int64_t *begun;   /* (N,): the time of each row's first token, or NULL: 0 */
    const int64_t *origins; /* (T, N): the cache row of each hypothesis at earlier times, or NULL: its own row */
    float *const *keys;     /* KV cache of each layer (T, N, W) */
    float *const *values;
    const float *const *source_keys;   /* of each layer (B · H, D, S) */
    const float *const *source_values; /* (B · H, S, D) */
    const float *hidden;               /* mask added to the scores (B · H, S), or NULL */
    float *logits;                     /* (N, V) */
    float *room;                       /* buffer: N · (2 W + deep) + longest + LANES numbers; twice that for int8 */
    int64_t *at;                       /* buffer: t + 1 numbers */
    int32_t *live;                     /* buffer: N numbers */
    float *self_weights;               /* output: attention weights (layers, N, H, most), or NULL */
    float *source_weights;             /* output: attention weights (layers, N, H, S), or NULL */
    int32_t rows, beams, t, size, stride, most; /* N; K; time; S in use; S of the source keys; T of self_weights */
} Step;

/* sum (width) = Σ_s weights[s] · rows[s]; row s is at offset at[s], or s · apart if `at` is NULL. */
INLINE void weigh(const float *rows, const int64_t *at, int64_t apart, const float *weights, int count, float *sum, int width) {
    int k = 0;
    for (; k + 4 * LANES <= width; k += 4 * LANES) {
        vec sums[4] = {{0}};
        for (int s = 0; s < count; s++) {
            const float *row = rows + (at ? at[s] : s * apart) + k;
            for (int i = 0; i < 4; i++) sums[i] += *(const vec *)(row + i * LANES) * weights[s];
        }
        for (int i = 0; i < 4; i++) *(vec *)(sum + k + i * LANES) = sums[i];
    }
    for (; k + LANES <= width; k += LANES) { /* narrow heads: four rows at a time */
        vec sums[4] = {{0}};
        int s = 0;
        for (; s + 4 <= count; s += 4)
            for (int i = 0; i < 4; i++)
                sums[i] += *(const vec *)(rows + (at ? at[s + i] : (s + i) * apart) + k) * weights[s + i];
        for (; s < count; s++) sums[0] += *(const vec *)(rows + (at ? at[s] : s * apart) + k) * weights[s];
        *(vec *)(sum + k) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    for (; k < width; k++) {
        float one = 0;
        for (int s = 0; s < count; s++) one += rows[(at ? at[s] : s * apart) + k] * weights[s];
        sum[k] = one;
    }
}

/* Append keys and values of time t to the caches; attend from each live row to times begun..t. */
static void attend_written(const Decoder *d, const Step *s, int layer, int rows, const float *joined, float *context,
                           float *scores) {
    const int width = d->width, size = width / d->heads;
    float *keys = s->keys[layer], *values = s->values[layer];
    const int64_t apart = (int64_t)s->rows * width;
    for (int i = 0; i < rows; i++, joined += 3 * width) {
        const int n = s->live[i];
        const int64_t here = s->t * apart + (int64_t)n * width;
        memcpy(keys + here, joined + width, sizeof(float) * width);
        memcpy(values + here, joined + 2 * width, sizeof(float) * width);
        const int first = s->begun ? (int)s->begun[n] : 0, count = s->t + 1 - first;
        int64_t *at = s->at;
        for (int t = first; t <= s->t; t++)
            at[t - first] = t * apart + (s->origins && t < s->t ? s->origins[(int64_t)t * s->rows + n] : n) * width;
        for (int h = 0; h < d->heads; h++) {
            for (int t = 0; t < count; t++) scores[t] = inner(joined + h * size, keys + at[t] + h * size, size);
            softmax(scores, count);
            if (s->self_weights)
                memcpy(s->self_weights + (((int64_t)layer * s->rows + n) * d->heads + h) * s->most, scores,
                       sizeof(float) * count);
            weigh(values + h * size, at, 0, scores, count, context + (int64_t)i * width + h * size, size);
        }
    }
}

/* scores (count) = Σ_k query[k] · keys[k], for keys (width, stride). Vector loads may run into the next row; near the
   end of the last rows the loop reads single numbers instead. */
INLINE void score_keys(const float *keys, int stride, const float *query, int width, float *scores, int count) {
    for (int s = 0; s < count; s += LANES) {
        vec sums[4] = {{0}};
        const int64_t last = (int64_t)width * stride - s - LANES; /* last offset of a whole vector */
        const int whole = last < 0 ? 0 : (int)(last / stride) + 1;
        int k = 0;
        for (; k + 4 <= whole && k + 4 <= width; k += 4)
            for (int i = 0; i < 4; i++) sums[i] += *(const vec *)(keys + (int64_t)(k + i) * stride + s) * query[k + i];
        *(vec *)(scores + s) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (; k < width; k++)
            for (int i = s; i < count && i < s + LANES; i++) scores[i] += keys[(int64_t)k * stride + i] * query[k];
    }
}

static void attend_source(const Decoder *d, const Step *s, int layer, int rows, const float *query, float *context,
                          float *scores) {
    const int width = d->width, size = width / d->heads;
    for (int i = 0; i < rows; i++)
        for (int h = 0; h < d->heads; h++) {
            const int64_t bank = (int64_t)(s->live[i] / s->beams) * d->heads + h, at = (int64_t)i * width + h * size;
            const float *keys = s->source_keys[layer] + bank * size * s->stride;
            const float *values = s->source_values[layer] + bank * size * s->stride;
            score_keys(keys, s->stride, query + at, size, scores, s->size);
            if (s->hidden)
                for (int k = 0; k < s->size; k++) scores[k] += s->hidden[bank * s->stride + k];
            softmax(scores, s->size);
            if (s->source_weights)
                memcpy(s->source_weights + (((int64_t)layer * s->rows + s->live[i]) * d->heads + h) * s->stride, scores,
                       sizeof(float) * s->size);
            weigh(values, 0, size, scores, s->size, context + at, size);
        }
}

static const float *normed(const Norm *n, const float *x, int rows, int width, float *y) {
    if (!n->weight) return x;
    norm(n, x, rows, width, y);
    return y;
}

/* One decoding step: compute logits from tokens and fill the caches at time t. Return 1 without doing anything if a
   token is outside the vocabulary, else 0. */
int step(const Decoder *d, const Step *s) {
    const int width = d->width;
    int rows = 0;
    for (int n = 0; n < s->rows; n++) {
        if (s->tokens[n] < 0 || s->tokens[n] >= d->known) return 1;
        if (s->tokens[n] != PAD) s->live[rows++] = n;
    }
    float *x = s->room, *some = x + (int64_t)rows * width, *deep = some + (int64_t)rows * width;
    float *scores = deep + (int64_t)rows * d->deep;
    const int longest = s->t + 1 > s->size ? s->t + 1 : s->size;
    void *coarse = scores + longest + LANES;
    for (int i = 0; i < rows; i++) {
        const int n = s->live[i];
        const float *word = d->words + s->tokens[n] * width;
        const float *place = s->places ? s->places + (s->ages ? s->ages[n] : s->t) * width : 0;
        for (int k = 0; k < width; k++) x[(int64_t)i * width + k] = word[k] * d->scale + (place ? place[k] : 0.0f);
    }
    for (int i = 0; i < d->count; i++) {
        const Layer *l = d->layers + i;
        product(&l->joined, normed(&l->before_self, x, rows, width, some), rows, deep, 0, 0, 0, coarse);
        attend_written(d, s, i, rows, deep, some, scores);
        product(&l->self_output, some, rows, x, 0, x, 0, coarse);
        normed(&l->after_self, x, rows, width, x);
        product(&l->query, normed(&l->before_cross, x, rows, width, some), rows, deep, 0, 0, 0, coarse);
        attend_source(d, s, i, rows, deep, some, scores);
        product(&l->cross_output, some, rows, x, 0, x, 0, coarse);
        normed(&l->after_cross, x, rows, width, x);
        product(&l->inner, normed(&l->before_feed, x, rows, width, some), rows, deep, 0, 0, 1, coarse);
        product(&l->outer, deep, rows, x, 0, x, 0, coarse);
        normed(&l->after_feed, x, rows, width, x);
    }
    product(&d->output, normed(&d->norm, x, rows, width, some), rows, s->logits, s->live, 0, 0, coarse);
    return 0;
}

/* ---- the encoder */

typedef struct {
    Norm before_self, after_self, before_feed, after_feed;
    Linear joined, self_output, inner, outer;
} EncoderLayer;

typedef struct {
    const float *words; /* (V, W) */
    const EncoderLayer *layers;
    const Linear *kept; /* for each decoder layer: projection to cross-attention keys and values */
    Norm norm;
    float scale;
    int32_t count, banks, width, heads, deep; /* layers; decoder layers; W; heads; as in Decoder */
} Encoder;

typedef struct {
    const int64_t *tokens;  /* of all sentences together, without padding */
    const int64_t *columns; /* the position of each token in its padded sentence */
    const int64_t *begins;  /* (B + 1): index of the first token of each sentence, and the number of all tokens */
    const float *places;    /* position encodings (S, W), or NULL */
    float *const *keys;     /* output, for each decoder layer (B · H, D, S) */
    float *const *values;   /* output (B · H, S, D) */
    float *room;            /* buffer: tokens · (2 W + deep) + (2 D + 1) · (S + LANES) + LANES numbers; twice that for int8 */
    float *self_weights;    /* output: attention weights (layers, B, H, S, S), or NULL */
    int32_t sentences, stride; /* B; S */
} Source;

/* Self-attention of each sentence. A head's keys (D, count) and values (count, D) are copied together first: every query
   reads all of them. Keys are padded to whole vectors. */
static void attend_sentences(const Encoder *e, const Source *s, int layer, const float *joined, float *context,
                             float *scores) {
    const int width = e->width, size = width / e->heads, most = (s->stride + LANES - 1) / LANES * LANES;
    float *keys = scores + most, *values = keys + (int64_t)size * most;
    for (int b = 0; b < s->sentences; b++) {
        const int count = (int)(s->begins[b + 1] - s->begins[b]), padded = (count + LANES - 1) / LANES * LANES;
        const float *here = joined + s->begins[b] * 3 * width;
        for (int h = 0; h < e->heads; h++) {
            for (int i = 0; i < count; i++) {
                const float *key = here + (int64_t)i * 3 * width + width + h * size;
                for (int k = 0; k < size; k++) keys[(int64_t)k * padded + i] = key[k];
                memcpy(values + (int64_t)i * size, key + width, sizeof(float) * size);
            }
            for (int k = 0; k < size; k++)
                for (int i = count; i < padded; i++) keys[(int64_t)k * padded + i] = 0;
            for (int i = 0; i < count; i++) {
                score_keys(keys, padded, here + (int64_t)i * 3 * width + h * size, size, scores, padded);
                softmax(scores, count);
                if (s->self_weights) {
                    const int64_t *columns = s->columns + s->begins[b];
                    float *row = s->self_weights +
                        ((((int64_t)layer * s->sentences + b) * e->heads + h) * s->stride + columns[i]) * s->stride;
                    for (int k = 0; k < count; k++) row[columns[k]] = scores[k];
                }
                weigh(values, 0, size, scores, count, context + (s->begins[b] + i) * width + h * size, size);
            }
        }
    }
}

/* Copy keys and values (tokens, 2 W) into the layout that a decoding step reads. */
static void bank(const Encoder *e, const Source *s, int layer, const float *kept) {
    const int width = e->width, size = width / e->heads;
    for (int b = 0; b < s->sentences; b++)
        for (int64_t i = s->begins[b]; i < s->begins[b + 1]; i++, kept += 2 * width)
            for (int h = 0; h < e->heads; h++) {
                const int64_t at = ((int64_t)b * e->heads + h) * size * s->stride;
                float *keys = s->keys[layer] + at + s->columns[i];
                for (int k = 0; k < size; k++) keys[(int64_t)k * s->stride] = kept[h * size + k];
                memcpy(s->values[layer] + at + s->columns[i] * size, kept + width + h * size, sizeof(float) * size);
            }
}

/* Encode sources, and compute the cross-attention keys and values of every decoder layer. */
void encode(const Encoder *e, const Source *s) {
    const int rows = (int)s->begins[s->sentences], width = e->width;
    float *x = s->room, *some = x + (int64_t)rows * width, *deep = some + (int64_t)rows * width;
    float *scores = deep + (int64_t)rows * e->deep;
    void *coarse = scores + (int64_t)(2 * width / e->heads + 1) * (s->stride + LANES) + LANES;
    for (int i = 0; i < rows; i++) {
        const float *word = e->words + s->tokens[i] * width, *place = s->places ? s->places + s->columns[i] * width : 0;
        for (int k = 0; k < width; k++) x[(int64_t)i * width + k] = word[k] * e->scale + (place ? place[k] : 0.0f);
    }
    for (int i = 0; i < e->count; i++) {
        const EncoderLayer *l = e->layers + i;
        product(&l->joined, normed(&l->before_self, x, rows, width, some), rows, deep, 0, 0, 0, coarse);
        attend_sentences(e, s, i, deep, some, scores);
        product(&l->self_output, some, rows, x, 0, x, 0, coarse);
        normed(&l->after_self, x, rows, width, x);
        product(&l->inner, normed(&l->before_feed, x, rows, width, some), rows, deep, 0, 0, 1, coarse);
        product(&l->outer, deep, rows, x, 0, x, 0, coarse);
        normed(&l->after_feed, x, rows, width, x);
    }
    const float *read = normed(&e->norm, x, rows, width, some);
    for (int i = 0; i < e->banks; i++) {
        product(e->kept + i, read, rows, deep, 0, 0, 0, coarse);
        bank(e, s, i, deep);
    }
}

/* ---- the best words */

/* log Σ exp x over all words. */
INLINE float normalizer(const float *x, int words) {
    vec most = (vec){0} - INFINITY, sums = {0};
    float top = -INFINITY, sum = 0;
    int k = 0;
    for (; k + LANES <= words; k += LANES) most = choose(*(const vec *)(x + k) > most, *(const vec *)(x + k), most);
    for (int i = 0; i < LANES; i++) top = most[i] > top ? most[i] : top;
    for (int i = k; i < words; i++) top = x[i] > top ? x[i] : top;
    if (top == -INFINITY) top = 0;
    for (k = 0; k + LANES <= words; k += LANES) sums += exponential(*(const vec *)(x + k) - top);
    for (sum = total(sums); k < words; k++) sum += expf(x[k] - top);
    return sum == 0 ? NAN : top + logf(sum); /* every logit is -inf: NaN, as in torch */
}

/* The best `count` words, from `first` on, of the `beams` rows of each sentence together: log-probabilities and places
   k · words + word, best first. `before` (sentences · beams): log-probabilities of the rows so far, or NULL. If a row
   has a NaN, all values of its sentence are NaN. */
void best(const float *logits, int sentences, int beams, int words, int first, int count, const float *before,
          float *values, int64_t *places) {
    for (int b = 0; b < sentences; b++, values += count, places += count) {
        for (int i = 0; i < count; i++) values[i] = -INFINITY, places[i] = first + i;
        for (int k = 0; k < beams; k++, logits += words) {
            if (before && before[b * beams + k] == -INFINITY) continue; /* inactive row: ignore its logits */
            const float more = (before ? before[b * beams + k] : 0.0f) - normalizer(logits, words);
            if (more != more) values[0] = more;
            if (values[0] != values[0]) continue;
            for (int w = first; w < words;) {
                const float least = values[count - 1] - more;
                for (; w + STRETCH <= words; w += STRETCH) { /* skip stretches without a better word */
                    ints better = {0};
                    int32_t any = 0;
                    for (int i = 0; i < STRETCH; i += LANES) better |= *(const vec *)(logits + w + i) > least;
                    for (int i = 0; i < LANES; i++) any |= better[i];
                    if (any) break;
                }
                const int end = w + STRETCH < words ? w + STRETCH : words;
                for (; w < end; w++) {
                    const float value = logits[w] + more;
                    if (!(value > values[count - 1])) continue;
                    int at = count - 1;
                    for (; at > 0 && value > values[at - 1]; at--) values[at] = values[at - 1], places[at] = places[at - 1];
                    values[at] = value;
                    places[at] = (int64_t)k * words + w;
                }
            }
        }
        if (values[0] != values[0])
            for (int i = 1; i < count; i++) values[i] = values[0];
    }
}

/* ---- the checksum of weights, to detect changes */

/* Add up the 8-byte words of all tensors in columns. Tensor k begins in column 7 k, and an incomplete last word is
   padded with zeros. */
void checksum(const char *const *tensors, const int64_t *bytes, int count, uint64_t *sums, int columns) {
    for (int k = 0; k < count; k++) {
        const int64_t whole = bytes[k] / 8, rest = bytes[k] % 8;
        int at = (int)(7 * (int64_t)k % columns);
        for (int64_t i = 0; i < whole; at = 0) {
            const int64_t left = whole - i;
            const int take = left < columns - at ? (int)left : columns - at;
            const char *words = tensors[k] + 8 * i;
            for (int j = 0; j < take; j++) {
                uint64_t word;
                memcpy(&word, words + 8 * j, 8);
                sums[at + j] += word;
            }
            i += take;
        }
        if (rest) {
            uint64_t word = 0;
            memcpy(&word, tensors[k] + 8 * whole, rest);
            sums[(7 * (int64_t)k + whole) % columns] += word;
        }
    }
}

int lanes(void) { return LANES; }

int coarse_products(void) {
#ifdef __AVX512VNNI__
    return 1;
#else
    return 0;
#endif
}

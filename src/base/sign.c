/* SPDX-License-Identifier: Apache-2.0
 * base/sign.c: the functions of libcrypto are looked up once per process; the
 * table is immutable afterwards. */
#include "base/sign.h"

#include <dlfcn.h>
#include <link.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct functions {
    EVP_MD_CTX *(*ctx_new)(void);
    void (*ctx_free)(EVP_MD_CTX *);
    EVP_PKEY *(*secret)(int, ENGINE *, const unsigned char *, size_t);
    EVP_PKEY *(*public)(int, ENGINE *, const unsigned char *, size_t);
    int (*get_public)(const EVP_PKEY *, unsigned char *, size_t *);
    void (*key_free)(EVP_PKEY *);
    int (*sign_init)(EVP_MD_CTX *, EVP_PKEY_CTX **, const EVP_MD *, ENGINE *, EVP_PKEY *);
    int (*sign)(EVP_MD_CTX *, unsigned char *, size_t *, const unsigned char *, size_t);
    int (*check_init)(EVP_MD_CTX *, EVP_PKEY_CTX **, const EVP_MD *, ENGINE *, EVP_PKEY *);
    int (*check)(EVP_MD_CTX *, const unsigned char *, size_t, const unsigned char *, size_t);
    void (*leave)(void);
    bool ready;
    bool ours; /* nobody else in the process had loaded it */
};

static struct functions lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *handle, const char *name, void *ret)
{
    void *symbol = dlsym(handle, name);

    memcpy(ret, &symbol, sizeof(symbol)); /* object to function pointer, as POSIX asks */
    return symbol != NULL;
}

static void load(void)
{
    bool ours = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD) == NULL;
    void *h = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    struct functions f = {.ours = ours};

    if (h == NULL)
        return;
    f.ready = find(h, "EVP_MD_CTX_new", &f.ctx_new) && find(h, "EVP_MD_CTX_free", &f.ctx_free) &&
              find(h, "EVP_PKEY_new_raw_private_key", &f.secret) &&
              find(h, "EVP_PKEY_new_raw_public_key", &f.public) &&
              find(h, "EVP_PKEY_get_raw_public_key", &f.get_public) &&
              find(h, "EVP_PKEY_free", &f.key_free) &&
              find(h, "EVP_DigestSignInit", &f.sign_init) && find(h, "EVP_DigestSign", &f.sign) &&
              find(h, "EVP_DigestVerifyInit", &f.check_init) &&
              find(h, "EVP_DigestVerify", &f.check) && find(h, "OPENSSL_thread_stop", &f.leave);
    if (f.ready)
        lib = f;
}

static bool ready(void)
{
    return pthread_once(&once, load) == 0 && lib.ready;
}

/* The segments of libcrypto that nobody can write are the file's own pages: three megabytes
 * that count as resident for a signature now and then. They come back when they are read. */
static int give_back(struct dl_phdr_info *info, size_t size, void *arg)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), wanted = (uintptr_t)arg;
    bool found = false;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;

        found |= p->p_type == PT_LOAD && wanted >= at && wanted - at < p->p_memsz;
    }
    for (int i = 0; found && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);

        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) == 0)
            (void)madvise((void *)at, info->dlpi_addr + p->p_vaddr + p->p_memsz - at,
                          MADV_DONTNEED);
    }
    return found;
}

void wbi_sign_leave(void)
{
    uintptr_t inside;

    if (!ready())
        return;
    lib.leave();
    memcpy(&inside, &lib.sign, sizeof(inside));
    if (lib.ours)
        (void)dl_iterate_phdr(give_back, (void *)inside);
}

wb_rc wbi_sign_public(const uint8_t secret[WBI_SIGN_KEY_SIZE], uint8_t ret[WBI_SIGN_KEY_SIZE])
{
    size_t n = WBI_SIGN_KEY_SIZE;
    EVP_PKEY *key;
    bool ok;

    if (!ready())
        return WB_EUNSUPPORTED;
    key = lib.secret(EVP_PKEY_ED25519, NULL, secret, WBI_SIGN_KEY_SIZE);
    if (key == NULL)
        return WB_ENOMEM;
    ok = lib.get_public(key, ret, &n) == 1 && n == WBI_SIGN_KEY_SIZE;
    lib.key_free(key);
    return ok ? WB_OK : WB_ENOMEM;
}

wb_rc wbi_sign(const uint8_t secret[WBI_SIGN_KEY_SIZE], const void *p, size_t n,
               uint8_t ret[WBI_SIGNATURE_SIZE])
{
    size_t size = WBI_SIGNATURE_SIZE;
    EVP_MD_CTX *ctx;
    EVP_PKEY *key;
    bool ok;

    if (!ready())
        return WB_EUNSUPPORTED;
    ctx = lib.ctx_new();
    key = lib.secret(EVP_PKEY_ED25519, NULL, secret, WBI_SIGN_KEY_SIZE);
    ok = ctx != NULL && key != NULL && lib.sign_init(ctx, NULL, NULL, NULL, key) == 1 &&
         lib.sign(ctx, ret, &size, p, n) == 1 && size == WBI_SIGNATURE_SIZE;
    if (ctx != NULL)
        lib.ctx_free(ctx);
    lib.key_free(key); /* NULL is fine */
    return ok ? WB_OK : WB_ENOMEM;
}

wb_rc wbi_sign_check(const uint8_t public_key[WBI_SIGN_KEY_SIZE], const void *p, size_t n,
                     const uint8_t signature[WBI_SIGNATURE_SIZE])
{
    EVP_MD_CTX *ctx;
    EVP_PKEY *key;
    int verdict = -1;

    if (!ready())
        return WB_EUNSUPPORTED;
    ctx = lib.ctx_new();
    if (ctx == NULL)
        return WB_ENOMEM;
    key = lib.public(EVP_PKEY_ED25519, NULL, public_key, WBI_SIGN_KEY_SIZE);
    if (key != NULL && lib.check_init(ctx, NULL, NULL, NULL, key) == 1)
        verdict = lib.check(ctx, signature, WBI_SIGNATURE_SIZE, p, n);
    lib.ctx_free(ctx);
    lib.key_free(key);
    return verdict == 1 ? WB_OK : WB_EDENIED;
}

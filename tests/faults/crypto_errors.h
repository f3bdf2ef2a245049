/* SPDX-License-Identifier: Apache-2.0
 * tests/faults/crypto_errors.h: libcrypto keeps its errors per thread; tests that
 * count what is left of allocations give them back first. */
#ifndef WAYBILL_TESTS_CRYPTO_ERRORS_H
#define WAYBILL_TESTS_CRYPTO_ERRORS_H

#include <dlfcn.h>
#include <stddef.h>

static inline void forget_crypto_errors(void)
{
    void *lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD);
    void (*stop)(void) = NULL;

    if (lib == NULL)
        return;
    *(void **)&stop = dlsym(lib, "OPENSSL_thread_stop");
    if (stop != NULL)
        stop();
    dlclose(lib);
}

#endif

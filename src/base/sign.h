/* SPDX-License-Identifier: Apache-2.0
 * base/sign.h: Ed25519 signatures by libcrypto, which is loaded at the first use.
 * All functions: any thread; WB_EUNSUPPORTED when libcrypto cannot be loaded. */
#ifndef WBI_BASE_SIGN_H
#define WBI_BASE_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "waybill/rc.h"

#define WBI_SIGN_KEY_SIZE 32 /* of secret and public keys */
#define WBI_SIGNATURE_SIZE 64

/* Any 32 random bytes are a secret key. */
WB_MUST_CHECK wb_rc wbi_sign_public(const uint8_t secret[WBI_SIGN_KEY_SIZE],
                                    uint8_t ret[WBI_SIGN_KEY_SIZE]);
WB_MUST_CHECK wb_rc wbi_sign(const uint8_t secret[WBI_SIGN_KEY_SIZE], const void *p, size_t n,
                             uint8_t ret[WBI_SIGNATURE_SIZE]);
/* WB_OK when public's owner signed these bytes, else WB_EDENIED. */
WB_MUST_CHECK wb_rc wbi_sign_check(const uint8_t public_key[WBI_SIGN_KEY_SIZE], const void *p,
                                   size_t n, const uint8_t signature[WBI_SIGNATURE_SIZE]);
/* On a thread of a pool that has used the above: what libcrypto keeps for the thread is
 * given back, for nobody does so when the pool ends, and the memory its code takes. */
void wbi_sign_leave(void);

#endif

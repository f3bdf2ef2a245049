/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_forms_test.c: secrets as programs print them, in whole and in pieces, and what
 * only looks like one (attack rows 101 to 107). Values are put in at run time, so that no
 * scanner takes this file for a leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "text/secrets.h"
#include "text/secrets_scan_int.h"

static struct wbi_secrets *sets[2]; /* the second knows a value of two lines */

/* {a40}: forty letters and digits, {h}: hexadecimal, {b}: base64, {w}: with _ and -, {u}: A-Z
 * and 2-7; {p}: a password, {i}: a UUID. */
static const char *const leaks[] = {
    /* prefixes */
    "found gsk_{a52} in output\n",
    "found xai-{a80} in output\n",
    "found ya29.{w180} in output\n",
    "found 1//0{w60} in output\n",
    "found GOCSPX-{w28} in output\n",
    "found r8_{a37} in output\n",
    "found figd_{w40} in output\n",
    "found tskey-auth-{a16}-{a32} in output\n",
    "found nfp_{a36} in output\n",
    "found CCIPAT_{a22}_{h40} in output\n",
    "found bkua_{h40} in output\n",
    "found ATBB{a36} in output\n",
    "found ATCTT3xFfG{w160} in output\n",
    "found sbp_{h40} in output\n",
    "found sb_secret_{w31} in output\n",
    "found glagent-{w50} in output\n",
    "found gloas-{h64} in output\n",
    "found sk-{h32} in output\n",
    "found sk-{a48} in output\n",
    "found sk-or-v1-{h64} in output\n",
    "found sk-lf-{i} in output\n",
    "found lsv2_pt_{h32}_{h10} in output\n",
    "found nvapi-{w64} in output\n",
    "found pcsk_{a6}_{a63} in output\n",
    "found tvly-dev-{a32} in output\n",
    "found hf_{a34} in output\n",
    "found whsec_{b32} in output\n",
    "found xoxc-{a12}-{h64} in output\n",
    "found xoxd-{a100} in output\n",
    "found secret_{a43} in output\n",
    "found lin_oauth_{h64} in output\n",
    "found squ_{h40} in output\n",
    "found glc_{b100} in output\n",
    "found AVNS_{w19} in output\n",
    "found npg_{a12} in output\n",
    "found LTAI{a20} in output\n",
    "found AKID{a32} in output\n",
    "found sha256~{w43} in output\n",
    "found dp.st.dev.{a43} in output\n",
    "found CFPAT-{w43} in output\n",
    "found HRKU-{i} in output\n",
    "found hvs.{a24} in output\n",
    "found ABSK{b110} in output\n",
    "found snyk_uat.{h8}.{w120} in output\n",
    "found pypi-AgENdGVzdC5weXBpLm9yZw{w80} in output\n",
    "found csk-{a48} in output\n",
    "found tgp_v1_{w43} in output\n",
    "found sk_{h48} in output\n",
    "found jina_{h32}{w28} in output\n",
    "found fc-{h32} in output\n",
    "found e2b_{h40} in output\n",
    "found wandb_v1_{w77} in output\n",
    "found EAAG{a180} in output\n",
    "found FLWSECK_TEST-{h32}-X in output\n",
    "found EZAK{a54} in output\n",
    "found duffel_live_{w43} in output\n",
    "found shippo_live_{h40} in output\n",
    "found access-production-{i} in output\n",
    "found xkeysib-{h64}-{a16} in output\n",
    "found mlsn.{h64} in output\n",
    "found pat-na1-{i} in output\n",
    "found sk.eyJ{a60}.{w22} in output\n",
    "found oy2{a43} in output\n",
    "found cio{a32} in output\n",
    "found packagist_uut_{h68} in output\n",
    "found CLOJARS_{h60} in output\n",
    "found vcp_{a56} in output\n",
    "found vercel_blob_rw_{a16}_{a30} in output\n",
    "found rnd_{a28} in output\n",
    "found tk-us-{w48} in output\n",
    "found pnu_{a36} in output\n",
    "found ico-{a32} in output\n",
    "found rdme_{h70} in output\n",
    "found tfp_{w44}_{w14} in output\n",
    "found phx_{a43} in output\n",
    "found hcaik_{h58} in output\n",
    "docker swarm join --tok SWMTKN-1-{a50}-{a25} 10.0.0.1:2377\n",
    "found sqa_{h40} in output\n",
    "found {b76}+ASt{b5}w== in output\n",
    "found {a76}AZDO{a4} in output\n",
    "found {a52}JQQJ99{a1}B{a16}A{a7} in output\n",
    "found eyJhbGciOiJSU0EtT0FFUCJ9.{w342}.{w16}.{w60}.{w22} in output\n",
    "found bedrock-api-key-{b120} in output\n",
    "found AQ.Ab{w48} in output\n",
    "found glwt-{w20} in output\n",
    "found GR1348941{w20} in output\n",
    "found esecret_{a26} in output\n",
    "found apify_api_{a36} in output\n",
    "found crsr_{h64} in output\n",
    "found xwfp-{w40} in output\n",
    "found mfa.{a84} in output\n",
    "found cfut_{a48} in output\n",
    "found {a33}+ASb{a6}= in output\n",
    "found {a33}+AEh{a6}= in output\n",
    "found {a42}AzSe{a6} in output\n",
    "found {a33}AzCa{a6}= in output\n",
    "found {a76}+ABa{a6}== in output\n",
    "found {a76}APIM{a6}== in output\n",
    "found https://x.webhook.office.com/webhookb2/x/IncomingWebhook/{h32}/{a36}\n",
    "found APP_USR-{h16}-{h6}-{h32}-{h9} in output\n",
    "found pdl_live_apikey_{a26}_{a22}_{a3} in output\n",
    "found polar_oat_{a43} in output\n",
    "found access-sandbox-{i} in output\n",
    "found shptka_{h32} in output\n",
    "found dG9rO{a55}= in output\n",
    "found pat-na2-{i} in output\n",
    "found ovsxat_{i} in output\n",
    "found hvr.{a24} in output\n",
    "found A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5} in output\n",
    "found napi_{a64} in output\n",
    "found mdb_sa_sk_{a40} in output\n",
    "found CCDB1_{a22}_{a40} in output\n",
    "found 4b1d{a38} in output\n",
    "found cflt{a60} in output\n",
    "found essu_{a100}== in output\n",
    "found xau_{a43} in output\n",
    "found sl.B{w136} in output\n",
    "found sl.u.{w150} in output\n",
    "found ddp_{a36} in output\n",
    "found pat.{w22}.{h24}.{a20} in output\n",
    "found fio-u-{w64} in output\n",
    "found aio_{a28} in output\n",
    "found p8e-{a32} in output\n",
    "found waka_{i} in output\n",
    "found API-{u26} in output\n",
    "found dnkey-{a26}-{a52} in output\n",
    "found bce-v3/ALTAK-{a21}/{h40} in output\n",
    "found AQVN{w36} in output\n",
    "found t1.9eu{w100}.{w86} in output\n",
    "found eyJrIjoi{a80}= in output\n",
    "found NRII-{w32} in output\n",
    "found NRRA-{h42} in output\n",
    "found ZXlKaGJHY2lPaU{b100} in output\n",
    "found pat{a14}.{h64} in output\n",
    "found patcT{a12}.{h64} in output\n",
    "found {h32}-us21 in output\n",
    "{\"key\":\"{h32}-us6\"}\n",
    "found MTE4NjQyMzU0OTg3NjU0MzIx.G{a5}.{w38} in output\n",
    "found ODc2NTQzMjEwOTg3NjU0MzIx.X{a5}.{w27} in output\n",
    /* environments and files of configuration */
    "HOME=/root\nDB_PASS={a24}\nTERM=xterm\n",
    "LDAP_BIND_PW={a24}\n",
    "DB_PASSWORD={p}\n",
    "DB_PASSWORD=correcthorsebattery\n",
    "DB_PASSWORD=aB3,x9q;Zt7|kk\n",
    "export SMTP_PASSWORD=\"{p}\"\n",
    "APP_KEY=base64:{b43}=\n",
    "secret_key_base: {h128}\n",
    "HMAC_KEY={a24}\n",
    "USER: bob\nPASS: {p}\n",
    "  password: {p}\n",
    "  \"password\": \"{p}\",\n",
    "\"password\":\"Zx(81)kQ{0}pVn\"\n",
    "    client-key-data: {b2400}\n",
    "javax.net.ssl.keyStorePassword = {p}\n",
    "api_key = \"HchgolPdfVgsqUYyIzwE\"\n",
    "define( 'DB_PASSWORD', '{p}' );\n",
    "'password' => '{p}',\n",
    "connect(user='x', password='{p}')\n",
    "PresharedKey = {b43}=\n",
    "ENV API_TOKEN {a32}\n",
    "#7 [2/3] ENV DB_PASSWORD {p}\n",
    "setenv API_TOKEN {a32}\n",
    "setenv DB_PASSWORD '{p}'\n",
    "C:\\> setx API_TOKEN {a32}\n",
    "set -gx API_TOKEN {a32}\n",
    "machine api.github.com login bob password {p}\n",
    "machine api.github.com\n  login bob\n  password {p}\n",
    "localhost:5432:mydb:me:{p}\n",
    "_auth={b24}\n",
    "<server><username>bob</username><password>{p}</password></server>\n",
    "<add key=\"ApiKey\" value=\"{a20}\" />\n",
    "<string name=\"api_key\">{a20}</string>\n",
    "<key>ApiSecret</key>\n<string>{a20}</string>\n",
    "<input type=\"hidden\" name=\"csrf_token\" value=\"{a32}\">\n",
    "        - name: DB_PASSWORD\n          value: {p}\n        - name: PORT\n",
    "[{\"name\":\"DB_PASSWORD\",\"value\":\"{a20}\"},{\"name\":\"A\",\"value\":\"b\"}]\n",
    "{\n  \"name\": \"DB_PASSWORD\",\n  \"value\": \"{a20}\"\n}\n",
    "| api_key | {a32} |\n",
    "Your API key is: {a32}\n",
    "bob:$apr1$Tz8qWm1k${a22}\n",
    "bob:$2y$10${a53}\n",
    "root:$6$Tz8qWm1kab${a86}:19000:0:99999:7:::\n",
    "root:$y$j9T$T1q9zab3k1/d${a43}:19000:0:99999:7:::\n",
    /* columns */
    "user,password\nann,hunter2hunter2\nbob,{p}\nend\n",
    "id;name;api_token\n1;ann;{a32}\n2;bob;{a32}\n",
    "User name\tPassword\tConsole login link\nann\t{p}\thttps://x.io/console\n",
    "\"user\",\"secret_access_key\",\"note\"\n\"a,b\",\"{b40}\",\"\"\nc, {b40} ,d\n",
    /* other spellings */
    "data=%7B%22api_key%22%3A%22{a32}%22%7D\n",
    "redirect=%2Fx%3Faccess_token%3D{a32}%26a%3D1\n",
    "&quot;api_key&quot;: &quot;{a32}&quot;\n",
    "\\u0022api_key\\u0022:\\u0022{a32}\\u0022\n",
    /* addresses and headers */
    "jdbc:mysql://db:3306/x?user=root&password={p}&ssl=true\n",
    "Server=db;Database=x;User Id=sa;Password={p};\n",
    "https://{a23}@github.com/o/r.git\n",
    "postgres://app:p@{a8}@db/x\n",
    "https://x.blob.core.windows.net/c?sv=2020&sp=r&sig={a40}%2Fnj%3D\n",
    "https://b.s3.amazonaws.com/x?X-Amz-Date=2026&X-Amz-Signature={h64}\n",
    "https://api.telegram.org/bot844799816:A{w34}/getMe\n",
    "https://discord.com/api/webhooks/123456789012345678/{a68}\n",
    "> Cookie: sessionid={h32}; theme=dark\n",
    "< Set-Cookie: session={a40}; Path=/; HttpOnly\n",
    "Authorization: Digest username=\"bob\", nonce=\"x\", response=\"{h32}\"\n",
    "Authorization: SSWS 00{w40}\n",
    "authorization: Splunk {i}\n",
    "DEPLOYER_PRIVATE_KEY=0x{h64}\n",
    "  privateKey: \"0x{h64}\",\n",
    "Ocp-Apim-Subscription-Key: {h32}\n",
    /* commands */
    "ACCESSKEY\tAKIA{u16}\t2026-01-01T00:00:00+00:00\t{b40}\tActive\n",
    "AKIA{u16},{b40}\n",
    "mysql -uroot -p{p} db\n",
    "mysql -uroot -p{a600} db\n",
    "sshpass -p '{p}' ssh bob@h\n",
    "docker login -u bob -p {p}\n",
    "redis-cli -a {p} ping\n",
    "cmd --user bob --password {p} x\n",
    "cmd --token {a20} x\n",
    "curl -ubob:{p} https://x\n",
    "curl -su bob:{p} https://x\n",
    "zip -r -P {p} out.zip dir\n",
    "$ zip -P '{p};x' out.zip dir && ls\n",
    "unzip -P {p} out.zip\n",
    "ldapsearch -x -D cn=admin,dc=x -w {p} -b dc=x\n",
    "ldapadd -w{p} -f a.ldif\n",
    "ldapmodify -w '{p}' -f a.ldif | cat\n",
    "ldapdelete -D cn=x -w {p} cn=y\n",
    "ldapwhoami -H ldap://h -w {p}\n",
    "ldappasswd -w {p} cn=y\n",
    /* statements */
    "CREATE USER 'bob'@'%' IDENTIFIED BY '{p}';\n",
    "CREATE USER 'bob'@'%'\n  IDENTIFIED WITH mysql_native_password BY '{p}[1]';\n",
    "alter user bob identified by \"correcthorse\";\n",
    "ALTER ROLE bob WITH ENCRYPTED PASSWORD 'correcthorse';\n",
    "CREATE USER bob PASSWORD E'correct\\'horse';\n",
    "CREATE LOGIN bob WITH PASSWORD = N'{p}', DEFAULT_DATABASE = x;\n",
    /* OAuth */
    "GET /cb?code={a22}&state=xyz HTTP/1.1\n",
    "Location: https://c.io/cb?state=xyz&code=4/0{w60}\n",
    "grant_type=authorization_code&code={h20}&redirect_uri=https%3A%2F%2Fc%2Fcb\n",
    "grant_type=authorization_code&code_verifier={w43}\n",
    /* JSON Web Keys, the type before and after what is secret */
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"1\",\"d\":\"{w43}\"}\n",
    "[{\"d\":\"{w43}\",\"kty\":\"EC\"},{\"kty\":\"oct\",\"k\":\"{w22}\"}]\n",
    "{\"kty\":\"oct\",\"note\":\"x{y}z\",\"k\":\"{w22}\"}\n", /* braces of a value */
    "{\n  \"kty\": \"RSA\",\n  \"n\": \"x\",\n  \"d\": \"{w342}\",\n  \"p\": \"{w171}\",\n"
    "  \"q\": \"{w171}\",\n  \"dp\": \"{w171}\",\n  \"dq\": \"{w171}\",\n  \"qi\": "
    "\"{w171}\"\n}\nend\n",
    "{\n  \"alg\": \"x\",\n  \"d\": \"{w342}\",\n  \"dp\": \"{w171}\",\n  \"kty\": \"RSA\",\n"
    "  \"q\": \"{w171}\"\n}\nend\n",
    /* a line that ends one pair and begins another */
    "- name: API_TOKEN\n  value: \"{a23}- name: API_TOKEN\n          value: \"{a33}\"\nend\n",
    /* blocks of YAML */
    "  api_token: |\n    {a32}\n  next: 1\n",
    "password: >-\n  {p}4!\n",
    "client_secret: |2-\n  {a40}\n",
    "private_key: |\n  {b64}\n  {b64}\n\n  {b20}==\nnext: 1\n",
    "a:\n  - ssh_key: |-\n      {b64}\n      {b64}\n    other: two words\n",
    "deploy_token: |\n  {a40}\n\n    {a20}\n",
    "password: |\n  {p}4!\n  {p}5!\nnext: 1\n",
    /* a token as the user, whatever the password */
    "origin https://{a40}:x-oauth-basic@github.com/o/r (fetch)\n",
    "curl https://{a40}:@api.x.io/v1\n",
    /* more names */
    "  psk=\"{p}7!\"\n",
    "AZURE_DEVOPS_EXT_PAT={a52}\n",
    "olcRootPW: {SSHA}{b32}\n",
    /* objects */
    "apiVersion: v1\nkind: Secret\ndata:\n  a: {b32}\n  b: {b32}\n  c: {b32}\n---\nend\n",
    /* key blocks */
    "     1\t-----BEGIN RSA PRIVATE KEY-----\n     2\t{b64}\n     3\t{b64}\n     4\t-----END RSA "
    "PRIVATE KEY-----\n",
    "id_rsa:1:-----BEGIN RSA PRIVATE KEY-----\nid_rsa:2:{b64}\nid_rsa:3:{b64}\n",
    "web_1  | -----BEGIN RSA PRIVATE KEY-----\nweb_1  | {b64}\nweb_1  | -----END RSA PRIVATE "
    "KEY-----\n",
    "k=-----BEGIN%20RSA%20PRIVATE%20KEY-----%0A{b64}%0A{b64}%0A-----END%20RSA%20PRIVATE%20KEY-----"
    "\n",
    "\"-----BEGIN PRIVATE KEY-----\\u000a{b64}\\u000a-----END PRIVATE KEY-----\"\n",
    "tls.key: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ{b200}\n",
    "b3BlbnNzaC1rZXktdjEAAAAA{b100}\n",
    "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{b64}\nPrivate-MAC: "
    "{h64}\n",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{b64}\n---- END SSH2 ENCRYPTED "
    "PRIVATE "
    "KEY ----\n",
    "key={a20}-----BEGIN PRIVATE KEY-----\n{b64}\n-----END PRIVATE KEY-----\n",
};

static uint32_t state_of_chance;

static uint32_t chance(uint32_t n)
{
    state_of_chance = state_of_chance * 1664525u + 1013904223u;
    return (state_of_chance >> 8) % n;
}

static void add_value(struct wbi_buf *b, char kind, size_t n)
{
    static const char chars[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/_-";
    static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

    if (kind == 'p')
        wbi_buf_addz(b, "hunter2xq");
    for (size_t i = 0; kind == 'i' && i < 36; i++)
        wbi_buf_addc(b, i == 8 || i == 13 || i == 18 || i == 23 ? '-' : chars[chance(16)]);
    for (size_t i = 0; i < n; i++)
        wbi_buf_addc(b, kind == 'h'                      ? chars[chance(16)]
                        : kind == 'u'                    ? base32[chance(32)]
                        : kind == 'b'                    ? chars[chance(64)]
                        : kind == 'w' && chance(16) == 0 ? chars[64 + chance(2)]
                                                         : chars[chance(62)]);
}

struct piece {
    size_t at;
    size_t n;
};

/* The text, and where its values stand. */
static size_t expand(const char *form, struct wbi_buf *text, struct piece *pieces)
{
    size_t count = 0;

    state_of_chance = 3;
    wbi_buf_clear(text);
    for (const char *p = form; *p != '\0'; p++) {
        if (*p != '{' || strchr("ahbwupi", p[1]) == NULL || p[1] == '\0') {
            wbi_buf_addc(text, *p);
            continue;
        }
        pieces[count].at = text->n;
        add_value(text, p[1], strtoul(p + 2, NULL, 10));
        pieces[count].n = text->n - pieces[count].at;
        count++;
        p = strchr(p, '}');
    }
    return count;
}

static void no_piece_left(const char *form, const struct wbi_buf *text, const struct piece *pieces,
                          size_t count, const struct wbi_buf *out)
{
    for (size_t k = 0; k < count; k++) {
        struct wbi_str v = wbi_str_make(text->p + pieces[k].at, pieces[k].n);

        if (v.n >= 8 && wbi_str_find(wbi_buf_str(out), wbi_str_head(v, 24)) < out->n)
            fail_msg("%s -> %.*s", form, WBI_FMT(wbi_buf_str(out)));
    }
}

static void in_pieces(const struct wbi_secrets *set, struct wbi_str text, size_t step,
                      struct wbi_buf *out)
{
    struct wbi_secrets_stream st;

    wbi_buf_clear(out);
    wbi_secrets_stream_init(&st, set);
    for (size_t at = 0; at < text.n; at += step)
        assert_int_equal(
            wbi_secrets_stream_feed(&st, wbi_str_head(wbi_str_from(text, at), step), out), WB_OK);
    assert_int_equal(wbi_secrets_stream_finish(&st, out), WB_OK);
    wbi_secrets_stream_fini(&st);
}

static void secrets_are_replaced_as_programs_print_them(void **state)
{
    struct wbi_buf text, out, again;
    struct piece pieces[8];

    (void)state;
    wbi_buf_init(&text, 1u << 16);
    wbi_buf_init(&out, 1u << 16);
    wbi_buf_init(&again, 1u << 16);
    for (size_t i = 0; i < 2 * WBI_COUNT(leaks); i++) {
        const struct wbi_secrets *set = sets[i % 2];
        struct wbi_secrets_report report = {0};
        size_t count = expand(leaks[i / 2], &text, pieces);

        wbi_buf_clear(&out);
        assert_int_equal(wbi_secrets_replace(set, wbi_buf_str(&text), &out, &report), WB_OK);
        if (report.total == 0)
            fail_msg("nothing found: %.*s", WBI_FMT(wbi_buf_str(&out)));
        no_piece_left(leaks[i / 2], &text, pieces, count, &out);
        wbi_buf_clear(&again);
        assert_int_equal(wbi_secrets_replace(set, wbi_buf_str(&out), &again, NULL), WB_OK);
        assert_true(wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&again)));
        for (size_t step = 1; step < 80; step += 1 + step / 8) {
            in_pieces(set, wbi_buf_str(&text), step, &again);
            if (!wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&again)))
                fail_msg("by %zu bytes: %.*s", step, WBI_FMT(wbi_buf_str(&again)));
        }
    }
    wbi_buf_fini(&text);
    wbi_buf_fini(&out);
    wbi_buf_fini(&again);
}

static void words_code_and_identifiers_are_left_alone(void **state)
{
    static const char *const harmless[] = {
        "  token: \"0x6B175474E89094C44Da98b954EedeAC495271d0F\",\n",
        "hash: 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060\n",
        "Authorization: Splunk is asked for it\n",
        " PASS  __tests__/m11.test.js\n",
        "password: |\n  Please choose one of 12 words.\n",
        "token: |\n",
        "user,password\nann,${SECRET2}\nbob,********12\n",
        "user,password\nserver01,cpu02,disk03\nann,hunter2hunter2\n",
        "syn keyword\tservice\tpasswd\nsyn keyword\tservice\tkrb524\n",
        "token,count\nhello,5\nworld12,7\n",
        "file,pass,fail\nfoo2test,12,0\n",
        "    user, password,\n    name12, other12\n",
        "Name the user, password and token\nhost01x, name02x and disk03x\n",
        "password: |\nserver01\n",
        "token: |\n  It is made by\n  the service2\n  and has 12 signs.\nname: server01x\n",
        "key: >\n  the key that opens the door of room 1234\n",
        "WPA2-PSK: supported\n",
        "FILE_PAT=*.c\n",
        "src_pat: [a-z0-9]+_test\\.py$\n",
        "see https://user:pass@example.com:8080/\n",
        "PASS test_login2\n",
        "pass: 12, fail: 3\n",
        "PASS: tests/foo2.sh\nPASS: test-mbrtoc32\nPASS: TestV2\nXPASS: test12_x\n",
        "PASS: gcc.c-torture/compile/20000105-1.c  (test for excess errors)\n",
        "    --- PASS: TestMany/case_0 (0.00s)\n--- PASS: ExampleV2 (0.01s)\n",
        "PASS: foo2test\npass: foo2test\nPass: gdb2test.exp\n  PASS: utf8_case12\n",
        "PASS: t0001-init.sh 12 - re-init\n",
        "Cache restored from key: Linux-node-{h64}\n",
        "Cache saved with the key: setup-go-Linux-x64-ubuntu22-go-1.21.5-{h64}\n",
        "Cache not found for input keys: Linux-node-{h64}, Linux-node-\n",
        "Cache Key: v0-rust-build-job-Linux-x64-{h8}-{h8}\ncache-key: {a43}=\n",
        "primaryKey: Linux-pip-3.11-{h64}\nkey: session:{h16}:v2\n",
        "S3 key: artifacts/2024/01/02/build-{h16}.tar.gz\n",
        "foreign key: fk_rails_{h10}\nSec-WebSocket-Key: {a22}==\n",
        "key: \"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE{a86}\"\nPublic key: RWQ{a53}\n",
        "Host key: AAAAC3NzaC1lZDI1NTE5AAAAI{a43}\n",
        "curl --data password=@/run/secrets/db2\n",
        "ENV API_TOKEN $API_TOKEN2\nENV PASSWORD_HASHER argon2id3\nthe env PASSWORD variable2\n",
        "pathTo/x.{h64} patches.{h64} {h32}-us-east-1 {h40}-us6 {h32}-us123\n",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.G{a5}.short MTIz.{a6}.{a30} "
        "NTXabcabcabcabcabcabcabca.{a6}.{a30}\n",
        "\"max_tokens\": 4096, tokens: 1234, total_tokens=1234567\n",
        "ETag: \"{h40}\"\n256 SHA256:{b43} github.com (ECDSA)\n",
        "token = parser.next_token()\n",
        "progressToken: ProgressTokenSchema$1\n",
        "credential: ClientX509Credential | undefined;\n",
        "exports.startAuthorization = startAuthorization;\n",
        "authorization = self.build_authorization(request)\n",
        "kind: SyntaxKind.DotToken | SyntaxKind.SemicolonToken\n",
        "readonly STENCIL_PASS_DEPTH_PASS: 0x0B96;\n",
        "d.username=\"\",d.password=\"\"+e.get1(\"authorization\")\n",
        "L('Cannot pass \"'+x.name2+'\" as a '+this.name)\n",
        "https://user:pass@example.com/\n",
        "redis://default:PASSWORD@host/0\n",
        "PWD=/home/user/dir1\nOLDPWD=/tmp/x2\n",
        "kpasswd 464/tcp\n",
        "\"integrity\": \"sha512-{b86}==\",\n",
        "\"resolved\": \"https://r.io/tokens/-/tokens-2.3.4.tgz\",\n",
        "password: sha256\n",
        "password = os.environ['X1']\n",
        "password=$1\n",
        "password: {{ vault_password2 }}\n",
        "--password PASSWORD --token TOKEN\n",
        "cookie: a small piece of data1\n",
        "mkdir -p build/dev2 && mysql --version\n",
        "apt install zip && wget -P /var/tmp/files2 https://x.io/a\n",
        "wget https://x.io/a.zip -P /var/tmp/files2\n",
        "zip -P PASSWORD out.zip dir; ldapsearch -D cn=x -w secret\n",
        "the entry identified by 'item-42x' was not found\n",
        "CREATE USER bob IDENTIFIED BY 'your_password';\n",
        "ALTER USER bob WITH PASSWORD 'new_password';\n",
        "the user's password 'correcthorse' is too weak\n",
        "https://x.io/errors?code={a22}&lang=en\n",
        "https://x.io/cb?code=access_denied_by_user&state=xyz\n",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{w43}\",\"y\":\"{w43}\"}\n",
        "{\"d\":\"{w43}\",\"k\":\"{w43}\",\"p\":{\"kty\":\"EC\"}}\n",
        "{\"q\":\"{w43}\"} {\"kty\":\"EC\"}\n",
        "certificate-authority: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{b100}\n",
        "-----BEGIN PUBLIC KEY-----\n{b64}\n-----END PUBLIC KEY-----\n",
        "/* a task-0123456789 or disk-abc */\n",
        "FSDiscriminatorPass P = FSDiscriminatorPass::Base0\n",
    };
    struct wbi_buf text, out;
    struct piece ignored[8];

    (void)state;
    wbi_buf_init(&text, 1u << 14);
    wbi_buf_init(&out, 1u << 14);
    for (size_t i = 0; i < WBI_COUNT(harmless); i++) {
        expand(harmless[i], &text, ignored);
        wbi_buf_clear(&out);
        assert_int_equal(wbi_secrets_replace(sets[0], wbi_buf_str(&text), &out, NULL), WB_OK);
        if (!wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&text)))
            fail_msg("%s -> %.*s", harmless[i], WBI_FMT(wbi_buf_str(&out)));
    }
    wbi_buf_fini(&text);
    wbi_buf_fini(&out);
}

/* Found by fuzzing: a replacement that ends what was judged as longer before. */
static void what_a_replacement_uncovers_is_replaced_with_it(void **state)
{
    static const char *const texts[] = {
        "key =-d01Lm@Oz7ffffffen=a1tokktokei:9yc2Q~aG9yc2swodRBY--------env.---BADANy -\n",
        "BY3Q~aG2yc3swinsodRBm/llgitJllllhocorrect+horse\n",
        "-----BEGIN PRIVATE KEY-to/:k token=NvcnJlY3QgaG9yc@x@@Auth=a81234ur-TE EY------\nx\n",
        "user,password\nann,b\nbob,hwntecorrect horser2xq\n",
        "Auth=-----BEGIN PRIVATE@Auth=a81-34567890RRRS_RRAuth=-----BEGIN PRIVATE KEY---\nMIIE\n",
    };
    struct wbi_buf out, again;

    (void)state;
    wbi_buf_init(&out, 1u << 14);
    wbi_buf_init(&again, 1u << 14);
    for (size_t i = 0; i < WBI_COUNT(texts); i++) {
        wbi_buf_clear(&out);
        wbi_buf_clear(&again);
        assert_int_equal(wbi_secrets_replace(sets[1], wbi_str_z(texts[i]), &out, NULL), WB_OK);
        assert_int_equal(wbi_secrets_replace(sets[1], wbi_buf_str(&out), &again, NULL), WB_OK);
        if (!wbi_str_eq(wbi_buf_str(&out), wbi_buf_str(&again)))
            fail_msg("%.*s -> %.*s", WBI_FMT(wbi_buf_str(&out)), WBI_FMT(wbi_buf_str(&again)));
    }
    wbi_buf_fini(&out);
    wbi_buf_fini(&again);
}

/* Any sorting into buckets is right, but only one made for these rules is fast. */
static void the_buckets_are_those_of_these_rules(void **state)
{
    (void)state;
    assert_true(wbi_secret_rules_n <= LITERALS_MAX);
    if (wbi_buckets_n != wbi_secret_rules_n)
        fail_msg("%zu rules, %zu in src/text/secrets_buckets.c: run bench_buckets",
                 wbi_secret_rules_n, wbi_buckets_n);
}

static int set_up(void **state)
{
    static const struct wbi_secrets_known known[] = {
        {WBI_LIT_INIT("correct horse"), WBI_LIT_INIT("K")},
        {WBI_LIT_INIT("two lines\nof one"), WBI_LIT_INIT("L")},
    };
    struct wbi_secrets_options o = {.key = WBI_LIT("k")};

    (void)state;
    if (wbi_secrets_new(&o, &sets[0], NULL, NULL) != WB_OK)
        return 1;
    o.known = known;
    o.n_known = 2;
    return wbi_secrets_new(&o, &sets[1], NULL, NULL) == WB_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    wbi_secrets_free(sets[0]);
    wbi_secrets_free(sets[1]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_replaced_as_programs_print_them),
        cmocka_unit_test(words_code_and_identifiers_are_left_alone),
        cmocka_unit_test(what_a_replacement_uncovers_is_replaced_with_it),
        cmocka_unit_test(the_buckets_are_those_of_these_rules),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

// Makes src/auth/sas_vectors.h: tokens of every kind and layout, signed by the official SDKs where possible, and by
// hand for versions that no SDK supports any more. Run where @azure/storage-* and @azure/data-tables are installed:
//   node test/vectors/sas.mjs > src/auth/sas_vectors.h
import { createHmac } from "node:crypto";
import * as blob from "@azure/storage-blob";
import * as queue from "@azure/storage-queue";
import * as share from "@azure/storage-file-share";
import * as tables from "@azure/data-tables";
import * as lake from "@azure/storage-file-datalake";

const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const hmac = (k, text) => createHmac("sha256", k).update(text, "utf8").digest("base64");
const sign = (lines) => hmac(Buffer.from(key, "base64"), lines.join("\n"));
const startsOn = new Date("1994-11-06T08:00:00Z");
const expiresOn = new Date("1994-11-06T09:00:00Z");
const terms = { startsOn, expiresOn, ipRange: { start: "127.0.0.1", end: "127.0.0.9" }, protocol: "https,http" };
const headers = {
  cacheControl: "no-cache", contentDisposition: "inline", contentEncoding: "gzip", contentLanguage: "en",
  contentType: "text/plain",
};
const vectors = [];
const add = (name, service, path, token, extra = "") =>
  vectors.push([name, service, `/${account}/${path}?${extra}${token}`]);

// The key that this server hands out for a delegation; see src/auth/delegation.c.
function delegationKey(service, version, userTenant = "") {
  const fields = ["lazuli user delegation key 1", "oid", "tid", "Sun, 06 Nov 1994 08:00:00 GMT",
    "Sun, 06 Nov 1994 10:00:00 GMT", service, version, userTenant];
  return {
    signedObjectId: "oid", signedTenantId: "tid", signedStartsOn: new Date("1994-11-06T08:00:00Z"),
    signedExpiresOn: new Date("1994-11-06T10:00:00Z"), signedService: service, signedVersion: version,
    ...(userTenant ? { signedDelegatedUserTenantId: userTenant } : {}),
    value: sign(fields),
  };
}

const blobKey = new blob.StorageSharedKeyCredential(account, key);
const queueKey = new queue.StorageSharedKeyCredential(account, key);
const shareKey = new share.StorageSharedKeyCredential(account, key);
const lakeKey = new lake.StorageSharedKeyCredential(account, key);
const tableKey = new tables.AzureNamedKeyCredential(account, key);

for (const version of ["2015-04-05", "2018-11-09", "2020-12-06", "2026-10-06"]) {
  const common = { ...terms, ...headers, version };
  const at = (v) => blob.generateBlobSASQueryParameters({ ...common, ...v }, blobKey).toString();
  const blobPermissions = blob.BlobSASPermissions.parse("rcw");
  add(`blob ${version}`, "BLOB", "c/dir/a%20b", at({ containerName: "c", blobName: "dir/a b", permissions: blobPermissions }));
  add(`container ${version}`, "BLOB", "c/dir/a%20b",
    at({ containerName: "c", permissions: blob.ContainerSASPermissions.parse("racwdl") }));
  add(`account ${version}`, "BLOB", "c/dir/a%20b", blob.generateAccountSASQueryParameters({
    ...terms, version, services: "bqtf", resourceTypes: "sco", permissions: blob.AccountSASPermissions.parse("rwdlacup") },
    blobKey).toString());
  if (version >= "2018-11-09") {
    const snapshotTime = "1994-11-06T08:30:00.1234567Z";
    add(`snapshot ${version}`, "BLOB", "c/b", at({ containerName: "c", blobName: "b", snapshotTime, permissions: blobPermissions }),
      `snapshot=${encodeURIComponent(snapshotTime)}&`);
  }
  if (version >= "2020-12-06") {
    const versionId = "1994-11-06T08:30:00.1234567Z";
    add(`version ${version}`, "BLOB", "c/b", at({ containerName: "c", blobName: "b", versionId, permissions: blobPermissions }),
      `versionid=${encodeURIComponent(versionId)}&`);
    add(`blob scope ${version}`, "BLOB", "c/b",
      at({ containerName: "c", blobName: "b", encryptionScope: "scope1", permissions: blobPermissions }));
    add(`account scope ${version}`, "FILE", "c/b", blob.generateAccountSASQueryParameters({
      ...terms, version, services: "f", resourceTypes: "o", permissions: blob.AccountSASPermissions.parse("r"),
      encryptionScope: "scope1" }, blobKey).toString());
    add(`directory ${version}`, "BLOB", "c/d1/d2/file", lake.generateDataLakeSASQueryParameters({
      ...common, fileSystemName: "c", pathName: "d1/d2", isDirectory: true, permissions: lake.DirectorySASPermissions.parse("racwdl") },
      lakeKey).toString());
  }
  add(`queue ${version}`, "QUEUE", "q/messages", queue.generateQueueSASQueryParameters({
    ...terms, version, queueName: "q", permissions: queue.QueueSASPermissions.parse("raup") }, queueKey).toString());
  add(`share ${version}`, "FILE", "s/dir/f", share.generateFileSASQueryParameters({
    ...common, shareName: "s", permissions: share.ShareSASPermissions.parse("rcwdl") }, shareKey).toString());
  add(`file ${version}`, "FILE", "s/dir/f", share.generateFileSASQueryParameters({
    ...common, shareName: "s", filePath: "dir/f", permissions: share.FileSASPermissions.parse("rcwd") }, shareKey).toString());
  add(`table ${version}`, "TABLE", "MyTable()", tables.generateTableSas("MyTable", tableKey, {
    ...terms, version, permissions: { query: true, add: true, update: true, delete: true },
    startPartitionKey: "a", startRowKey: "1", endPartitionKey: "m", endRowKey: "9" }));
}

for (const version of ["2018-11-09", "2020-02-10", "2020-12-06", "2025-07-05", "2026-04-06", "2026-10-06"]) {
  const common = { ...terms, ...headers, version };
  const permissions = blob.BlobSASPermissions.parse("rcw");
  add(`delegated blob ${version}`, "BLOB", "c/b", blob.generateBlobSASQueryParameters({
    ...common, containerName: "c", blobName: "b", permissions }, delegationKey("b", version), account).toString());
  add(`delegated container ${version}`, "BLOB", "c/b", blob.generateBlobSASQueryParameters({
    ...common, containerName: "c", permissions: blob.ContainerSASPermissions.parse("rl") }, delegationKey("b", version),
    account).toString());
  if (version >= "2020-02-10")
    add(`delegated directory ${version}`, "BLOB", "c/d1/d2/file", lake.generateDataLakeSASQueryParameters({
      ...common, fileSystemName: "c", pathName: "d1/d2", isDirectory: true, correlationId: "cid",
      permissions: lake.DirectorySASPermissions.parse("racwdl") }, delegationKey("b", version), account).toString());
  if (version >= "2025-07-05") {
    add(`delegated queue ${version}`, "QUEUE", "q/messages", queue.generateQueueSASQueryParameters({
      ...terms, version, queueName: "q", permissions: queue.QueueSASPermissions.parse("raup") },
      delegationKey("q", version), account).toString());
    add(`delegated file ${version}`, "FILE", "s/dir/f", share.generateFileSASQueryParameters({
      ...common, shareName: "s", filePath: "dir/f", permissions: share.FileSASPermissions.parse("rcwd") },
      delegationKey("f", version), account).toString());
  }
  if (version >= "2026-04-06")
    add(`delegated to a request ${version}`, "BLOB", "c/b", blob.generateBlobSASQueryParameters({
      ...common, containerName: "c", blobName: "b", permissions, requestHeaders: { "x-ms-test": "one" },
      requestQueryParameters: { zone: "two" } }, delegationKey("b", version), account).toString(), "zone=two&");
}

// What no SDK signs any more: sv before 2015-04-05.
const st = "1994-11-06T08:00Z", se = "1994-11-06T09:00Z";
const enc = encodeURIComponent;
const old = (sv, lines, extra = "") => `sv=${sv}&st=${enc(st)}&se=${enc(se)}&sp=r${extra}&sig=${enc(sign(lines))}`;
for (const [sv, prefix] of [["2012-02-12", ""], ["2013-08-15", ""], ["2014-02-14", ""], ["2015-02-21", "/blob"]]) {
  const overrides = sv >= "2013-08-15" ? ["no-cache", "inline", "gzip", "en", "text/plain"] : [];
  const names = "&rscc=no-cache&rscd=inline&rsce=gzip&rscl=en&rsct=text%2Fplain";
  add(`blob ${sv}`, "BLOB", "c/b",
    old(sv, ["r", st, se, `${prefix}/${account}/c/b`, "", sv, ...overrides], "&sr=b" + (overrides.length ? names : "")));
}
add("queue 2012-02-12", "QUEUE", "q/messages", old("2012-02-12", ["r", st, se, `/${account}/q`, "", "2012-02-12"]));
add("table 2012-02-12", "TABLE", "MyTable()",
  old("2012-02-12", ["r", st, se, `/${account}/mytable`, "", "2012-02-12", "a", "", "", ""], "&tn=mytable&spk=a"));
add("file 2015-02-21", "FILE", "s/dir/f",
  old("2015-02-21", ["r", st, se, `/file/${account}/s`, "", "2015-02-21", "", "", "", "", ""], "&sr=s"));

console.log("/* SPDX-License-Identifier: Apache-2.0 */");
console.log("/* Made by test/vectors/sas.mjs. Good from 08:00 to 09:00 on 6 November 1994. */");
console.log("// clang-format off");
for (const [name, service, target] of vectors)
  console.log(`{"${name}", SERVICE_${service}, "${target}"},`);

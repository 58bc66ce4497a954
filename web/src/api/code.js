// SPDX-License-Identifier: Apache-2.0
// "Copy as": the last request as curl, az and SDK code. Secrets are left as names of variables.

const quote = (text) => `'${String(text).replace(/'/g, "'\\''")}'`;

/** curl with a SAS in $SAS, which works for any request. */
export function asCurl(s, request) {
    const query = new URLSearchParams(request.query).toString().replace(/\+/g, '%20');
    const url = `${s.endpoint(request.service)}${request.path}?${query}${query ? '&' : ''}`;
    const lines = [`curl -X ${request.method} ${quote(url)}"$SAS"`, `-H 'x-ms-version: 2025-11-05'`];
    for (const [name, value] of Object.entries(request.headers))
        if (value !== undefined && value !== null && !/authorization|lease-id/i.test(name))
            lines.push(`-H ${quote(`${name}: ${value}`)}`);
    if (/lease-id/i.test(Object.keys(request.headers).filter((name) => request.headers[name]).join()))
        lines.push('-H "x-ms-lease-id: $LEASE"');
    if (request.length > 0)
        lines.push('--data-binary @FILE');
    return lines.join(' \\\n  ');
}

const AZ = [
    ['blob', 'PUT', (p, q) => p.length === 1 && q.restype === 'container' && !q.comp, (p) => `az storage container create --name ${quote(p[0])}`],
    ['blob', 'DELETE', (p, q) => p.length === 1 && q.restype === 'container', (p) => `az storage container delete --name ${quote(p[0])}`],
    ['blob', 'GET', (p, q) => p.length === 1 && q.comp === 'list', (p, q) => `az storage blob list --container-name ${quote(p[0])}${q.prefix ? ` --prefix ${quote(q.prefix)}` : ''}${q.delimiter ? ` --delimiter ${quote(q.delimiter)}` : ''}`],
    ['blob', 'GET', (p, q) => p.length === 0 && q.comp === 'list', () => 'az storage container list'],
    ['blob', 'PUT', (p, q) => p.length > 1 && (!q.comp || q.comp === 'blocklist' || q.comp === 'block'), (p) => `az storage blob upload --container-name ${quote(p[0])} --name ${quote(p.slice(1).join('/'))} --file FILE`],
    ['blob', 'GET', (p, q) => p.length > 1 && !q.comp, (p) => `az storage blob download --container-name ${quote(p[0])} --name ${quote(p.slice(1).join('/'))} --file FILE`],
    ['blob', 'DELETE', (p) => p.length > 1, (p, q) => `az storage blob delete --container-name ${quote(p[0])} --name ${quote(p.slice(1).join('/'))} --delete-snapshots include${q.snapshot ? ` --snapshot ${quote(q.snapshot)}` : ''}`],
    ['blob', 'PUT', (p, q) => p.length > 1 && q.comp === 'snapshot', (p) => `az storage blob snapshot --container-name ${quote(p[0])} --name ${quote(p.slice(1).join('/'))}`],
    ['blob', 'PUT', (p, q) => p.length > 1 && q.comp === 'metadata', (p) => `az storage blob metadata update --container-name ${quote(p[0])} --name ${quote(p.slice(1).join('/'))} --metadata KEY=VALUE`],
    ['blob', 'PUT', (p, q) => p.length > 1 && q.comp === 'lease', (p) => `az storage blob lease acquire --container-name ${quote(p[0])} --blob-name ${quote(p.slice(1).join('/'))}`],
    ['queue', 'PUT', (p, q) => p.length === 1 && !q.comp, (p) => `az storage queue create --name ${quote(p[0])}`],
    ['queue', 'DELETE', (p) => p.length === 1, (p) => `az storage queue delete --name ${quote(p[0])}`],
    ['queue', 'POST', (p) => p.length === 2, (p) => `az storage message put --queue-name ${quote(p[0])} --content TEXT`],
    ['queue', 'GET', (p, q) => p.length === 2 && q.peekonly === 'true', (p, q) => `az storage message peek --queue-name ${quote(p[0])} --num-messages ${q.numofmessages ?? 1}`],
    ['queue', 'GET', (p) => p.length === 2, (p, q) => `az storage message get --queue-name ${quote(p[0])} --num-messages ${q.numofmessages ?? 1}`],
    ['queue', 'DELETE', (p) => p.length === 2, (p) => `az storage message clear --queue-name ${quote(p[0])}`],
    ['table', 'POST', (p) => p[0] === 'Tables', () => 'az storage table create --name TABLE'],
    ['table', 'GET', (p) => p[0]?.endsWith('()'), (p, q) => `az storage entity query --table-name ${quote(p[0].slice(0, -2))}${q.$filter ? ` --filter ${quote(q.$filter)}` : ''}`],
    ['file', 'PUT', (p, q) => p.length === 1 && q.restype === 'share' && !q.comp, (p) => `az storage share create --name ${quote(p[0])}`],
    ['file', 'GET', (p, q) => p.length >= 1 && q.comp === 'list', (p) => `az storage file list --share-name ${quote(p[0])}${p.length > 1 ? ` --path ${quote(p.slice(1).join('/'))}` : ''}`],
    ['file', 'GET', (p, q) => p.length > 1 && !q.comp, (p) => `az storage file download --share-name ${quote(p[0])} --path ${quote(p.slice(1).join('/'))}`],
    ['file', 'DELETE', (p) => p.length > 1, (p) => `az storage file delete --share-name ${quote(p[0])} --path ${quote(p.slice(1).join('/'))}`],
];

export function asAz(s, request) {
    const parts = request.path.split('/').filter(Boolean).map(decodeURIComponent);
    const row = AZ.find(([service, method, fits]) => service === request.service && method === request.method && fits(parts, request.query));
    return row ? `${row[3](parts, request.query)} --connection-string "$CONNECTION"` : '# az has no command for this request; use curl or an SDK.';
}

const CLIENTS = {
    blob: { js: ['@azure/storage-blob', 'BlobServiceClient'], python: ['azure.storage.blob', 'BlobServiceClient'], net: ['Azure.Storage.Blobs', 'BlobServiceClient'] },
    queue: { js: ['@azure/storage-queue', 'QueueServiceClient'], python: ['azure.storage.queue', 'QueueServiceClient'], net: ['Azure.Storage.Queues', 'QueueServiceClient'] },
    table: { js: ['@azure/data-tables', 'TableClient'], python: ['azure.data.tables', 'TableServiceClient'], net: ['Azure.Data.Tables', 'TableServiceClient'] },
    file: { js: ['@azure/storage-file-share', 'ShareServiceClient'], python: ['azure.storage.fileshare', 'ShareServiceClient'], net: ['Azure.Storage.Files.Shares', 'ShareServiceClient'] },
};

/** [what is called in JavaScript, Python, C#] for the request, given the names on its path. */
function calls({ service, method, query }, [top, ...rest]) {
    const q = (text) => JSON.stringify(text ?? '');
    const name = rest.join('/');
    if (service === 'blob') {
        if (top === undefined) return ['listContainers()', 'list_containers()', 'GetBlobContainers()'];
        const c = [`getContainerClient(${q(top)})`, `get_container_client(${q(top)})`, `GetBlobContainerClient(${q(top)})`];
        const b = [`${c[0]}.getBlockBlobClient(${q(name)})`, `get_blob_client(${q(top)}, ${q(name)})`, `${c[2]}.GetBlobClient(${q(name)})`];
        if (!name) {
            if (query.comp === 'list') return [`${c[0]}.listBlobsFlat({ prefix: ${q(query.prefix)} })`, `${c[1]}.list_blobs(name_starts_with=${q(query.prefix)})`, `${c[2]}.GetBlobs(prefix: ${q(query.prefix)})`];
            return method === 'DELETE' ? [`${c[0]}.delete()`, `${c[1]}.delete_container()`, `${c[2]}.Delete()`] : [`${c[0]}.create()`, `${c[1]}.create_container()`, `${c[2]}.Create()`];
        }
        if (method === 'DELETE') return [`${b[0]}.delete({ deleteSnapshots: 'include' })`, `${b[1]}.delete_blob(delete_snapshots="include")`, `${b[2]}.Delete(DeleteSnapshotsOption.IncludeSnapshots)`];
        if (method === 'GET' && !query.comp) return [`${b[0]}.downloadToFile('FILE')`, `${b[1]}.download_blob().readall()`, `${b[2]}.DownloadTo("FILE")`];
        if (query.comp === 'snapshot') return [`${b[0]}.createSnapshot()`, `${b[1]}.create_snapshot()`, `${b[2]}.CreateSnapshot()`];
        if (query.comp === 'metadata') return [`${b[0]}.setMetadata({ key: 'value' })`, `${b[1]}.set_blob_metadata({"key": "value"})`, `${b[2]}.SetMetadata(metadata)`];
        if (query.comp === 'tags' && method === 'PUT') return [`${b[0]}.setTags({ key: 'value' })`, `${b[1]}.set_blob_tags({"key": "value"})`, `${b[2]}.SetTags(tags)`];
        if (query.comp === 'lease') return [`${b[0]}.getBlobLeaseClient().acquireLease(15)`, `${b[1]}.acquire_lease(15)`, `${b[2]}.GetBlobLeaseClient().Acquire(TimeSpan.FromSeconds(15))`];
        if (method === 'PUT' && (!query.comp || query.comp.startsWith('block'))) return [`${b[0]}.uploadFile('FILE')`, `${b[1]}.upload_blob(open("FILE", "rb"), overwrite=True)`, `${b[2]}.Upload("FILE", overwrite: true)`];
        return [`${b[0]}.getProperties()`, `${b[1]}.get_blob_properties()`, `${b[2]}.GetProperties()`];
    }
    if (service === 'queue') {
        if (top === undefined) return ['listQueues()', 'list_queues()', 'GetQueues()'];
        const c = [`getQueueClient(${q(top)})`, `get_queue_client(${q(top)})`, `GetQueueClient(${q(top)})`];
        if (rest.length > 0) {
            if (method === 'POST') return [`${c[0]}.sendMessage('TEXT')`, `${c[1]}.send_message("TEXT")`, `${c[2]}.SendMessage("TEXT")`];
            if (method === 'DELETE' && rest.length === 1) return [`${c[0]}.clearMessages()`, `${c[1]}.clear_messages()`, `${c[2]}.ClearMessages()`];
            if (method === 'DELETE') return [`${c[0]}.deleteMessage(id, receipt)`, `${c[1]}.delete_message(id, receipt)`, `${c[2]}.DeleteMessage(id, receipt)`];
            return query.peekonly ? [`${c[0]}.peekMessages({ numberOfMessages: 32 })`, `${c[1]}.peek_messages(32)`, `${c[2]}.PeekMessages(32)`] : [`${c[0]}.receiveMessages()`, `${c[1]}.receive_messages()`, `${c[2]}.ReceiveMessages()`];
        }
        return method === 'DELETE' ? [`${c[0]}.delete()`, `${c[1]}.delete_queue()`, `${c[2]}.Delete()`] : [`${c[0]}.create()`, `${c[1]}.create_queue()`, `${c[2]}.Create()`];
    }
    if (service === 'table') {
        const table = (top ?? '').replace(/\(.*$/, '');
        if (top === 'Tables') return ['createTable()', 'create_table("TABLE")', 'CreateTable("TABLE")'];
        if (method === 'GET') return [`listEntities({ queryOptions: { filter: ${q(query.$filter)} } })`, `get_table_client(${q(table)}).query_entities(${q(query.$filter)})`, `GetTableClient(${q(table)}).Query<TableEntity>(${q(query.$filter)})`];
        if (method === 'DELETE') return ['deleteEntity(partitionKey, rowKey, { etag })', `get_table_client(${q(table)}).delete_entity(partition_key, row_key)`, `GetTableClient(${q(table)}).DeleteEntity(partitionKey, rowKey, etag)`];
        return ["updateEntity(entity, 'Replace', { etag })", `get_table_client(${q(table)}).update_entity(entity, mode="replace")`, `GetTableClient(${q(table)}).UpdateEntity(entity, etag, TableUpdateMode.Replace)`];
    }
    if (top === undefined) return ['listShares()', 'list_shares()', 'GetShares()'];
    const c = [`getShareClient(${q(top)})`, `get_share_client(${q(top)})`, `GetShareClient(${q(top)})`];
    if (!name) return method === 'PUT' ? [`${c[0]}.create()`, `${c[1]}.create_share()`, `${c[2]}.Create()`] : [`${c[0]}.rootDirectoryClient.listFilesAndDirectories()`, `${c[1]}.list_directories_and_files()`, `${c[2]}.GetRootDirectoryClient().GetFilesAndDirectories()`];
    const f = [`${c[0]}.rootDirectoryClient.getFileClient(${q(name)})`, `${c[1]}.get_file_client(${q(name)})`, `${c[2]}.GetRootDirectoryClient().GetFileClient(${q(name)})`];
    if (method === 'DELETE') return [`${f[0]}.delete()`, `${f[1]}.delete_file()`, `${f[2]}.Delete()`];
    return method === 'GET' ? [`${f[0]}.downloadToFile('FILE')`, `${f[1]}.download_file().readall()`, `${f[2]}.Download()`] : [`${f[0]}.uploadFile('FILE')`, `${f[1]}.upload_file(open("FILE", "rb"))`, `${f[2]}.Upload(stream)`];
}

export function asSdk(request, language) {
    const names = request.path.split('/').filter(Boolean).map(decodeURIComponent);
    const [js, python, net] = calls(request, names);
    const [module, client] = CLIENTS[request.service][language];
    if (language === 'js')
        return `import { ${client} } from '${module}';\nconst service = ${client}.fromConnectionString(process.env.CONNECTION${client === 'TableClient' ? `, ${JSON.stringify((names[0] ?? '').replace(/\(.*$/, ''))}` : ''});\nawait service.${js};`;
    if (language === 'python')
        return `import os\nfrom ${module} import ${client}\nservice = ${client}.from_connection_string(os.environ["CONNECTION"])\nservice.${python}`;
    return `using ${module};\nvar service = new ${client}(Environment.GetEnvironmentVariable("CONNECTION"));\nservice.${net};`;
}

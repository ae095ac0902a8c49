// For .ci/servers. "ports N" prints free ports of the loopback; "make" waits until the servers answer, and makes the
// bucket "bkt" in those where it can't be made otherwise.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:net';

const [, , what, count] = process.argv;
const { SERVERS_GS, SERVERS_S3, SERVERS_AZBLOB, SERVERS_TOXIPROXY, AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY } = process.env;

async function ports(n) {
  const listening = await Promise.all(Array.from({ length: n }, () => new Promise((resolve) => {
    const s = createServer().listen(0, '127.0.0.1', () => resolve(s)); // all held until all are known
  })));
  console.log(listening.map((s) => s.address().port).join(' '));
  for (const s of listening) s.close();
}

// The signature that Azure calls Shared Key: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
function containerRequest() {
  const headers = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-12-02' };
  const signed = ['PUT', ...Array(11).fill(''), ...Object.entries(headers).map(([k, v]) => `${k}:${v}`),
    `/${AZURE_STORAGE_ACCOUNT}/${AZURE_STORAGE_ACCOUNT}/bkt`, 'restype:container'].join('\n');
  const signature = createHmac('sha256', Buffer.from(AZURE_STORAGE_KEY, 'base64')).update(signed).digest('base64');
  return { method: 'PUT', headers: { ...headers, authorization: `SharedKey ${AZURE_STORAGE_ACCOUNT}:${signature}` } };
}

async function answers(name, url, request, wanted) {
  const end = Date.now() + 30_000;
  for (let last; ; await new Promise((r) => setTimeout(r, 100))) {
    try {
      const a = await fetch(url, request());
      if (wanted.includes(a.status)) return;
      last = `${a.status} ${await a.text()}`;
    } catch (e) {
      last = e.cause ?? e;
    }
    if (Date.now() > end) throw new Error(`${name} at ${url} isn't ready after 30 s: ${last}`);
  }
}

if (what === 'ports') {
  await ports(Number(count));
} else {
  await Promise.all([
    answers('fake-gcs-server', `http://${SERVERS_GS}/storage/v1/b?project=test`,
      () => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"bkt"}' }), [200, 409]),
    answers('versitygw', `http://${SERVERS_S3}/bkt`, () => ({}), [403]), // without a signature
    answers('Azurite', `http://${SERVERS_AZBLOB}/${AZURE_STORAGE_ACCOUNT}/bkt?restype=container`, containerRequest, [201, 409]),
    answers('toxiproxy', `http://${SERVERS_TOXIPROXY}/version`, () => ({}), [200]),
  ]);
}

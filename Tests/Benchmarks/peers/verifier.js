// Forward authentication inside nginx: access tokens (RFC 9068) verified by njs and its WebCrypto, with the rules that
// Postern has for them. nginx makes a new machine for each request, so a key is imported for each request, too.

const expected = EXPECTED;

const algorithms = {
  RS256: {key: {name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256'}, verify: {name: 'RSASSA-PKCS1-v1_5'}},
  ES256: {key: {name: 'ECDSA', namedCurve: 'P-256'}, verify: {name: 'ECDSA', hash: 'SHA-256'}},
};
const skew = 30;
const form = /^Bearer +([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/i;

function object(part) {
  return JSON.parse(Buffer.from(part, 'base64url').toString());
}

async function claims(token) {
  const header = object(token[1]);
  const key = expected.keys[header.kid];
  if (!key || header.alg !== key.alg || header.crit !== undefined) return null;
  if (!/^(application\/)?at\+jwt$/i.test(header.typ)) return null;
  const algorithm = algorithms[key.alg];
  const spki = await crypto.subtle.importKey('spki', Buffer.from(key.spki, 'base64'), algorithm.key, false, ['verify']);
  const signature = Buffer.from(token[3], 'base64url');
  const good = await crypto.subtle.verify(algorithm.verify, spki, signature, Buffer.from(`${token[1]}.${token[2]}`));
  return good ? object(token[2]) : null;
}

function isRight(found) {
  const now = Date.now() / 1000;
  const audience = Array.isArray(found.aud) ? found.aud : [found.aud];
  if (found.iss !== expected.issuer || !audience.includes(expected.audience)) return false;
  if (typeof found.exp !== 'number' || !(now < found.exp + skew)) return false;
  if (typeof found.iat !== 'number' || !(found.iat <= now + skew)) return false;
  if (found.nbf !== undefined && !(found.nbf <= now + skew)) return false;
  if (found.cnf !== undefined) return false; // bound to a key, whose proof this does not verify
  return ['sub', 'client_id', 'jti'].every((name) => typeof found[name] === 'string');
}

async function verify(r) {
  let found = null;
  const token = form.exec(r.headersIn.Authorization || '');
  try {
    found = token && await claims(token);
  } catch (problem) {
    r.log(problem.message);
  }
  if (!found || !isRight(found)) {
    r.headersOut['WWW-Authenticate'] = 'Bearer error="invalid_token"';
    r.return(401);
  } else if (!(found.scope || '').split(' ').includes(expected.scope)) {
    r.return(403);
  } else {
    r.headersOut['X-User'] = found.sub;
    r.return(200);
  }
}

export default {verify};

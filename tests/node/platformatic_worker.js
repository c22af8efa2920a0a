'use strict'
// A member of the makes' groups: @platformatic/kafka. tests/python/group_worker.py says what its arguments are and what
// its lines mean.

const path = require('path')
const { pathToFileURL } = require('url')

// Node 20 lacks it, and the package asks for Node 22.
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((a, b) => { resolve = a; reject = b })
  return { promise, resolve, reject }
}

const given = Object.fromEntries(process.argv.slice(2).map(word => {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}))

// Microseconds of the monotonic clock.
const now = () => Number(process.hrtime.bigint() / 1000n)
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

function tell(e, more = {}) {
  // Written before the next step: the lines of a killed member are complete.
  require('fs').writeSync(1, JSON.stringify({ e, t: now(), ...more }) + '\n')
}

const nameOf = (topic, partition) => `${topic}-${partition}`
function split(name) {
  const cut = name.lastIndexOf('-')
  return { topic: name.slice(0, cut), partition: Number(name.slice(cut + 1)) }
}

// The offset of the next record of each owned partition. The stream may still hold records of an earlier generation.
const owned = new Map()
const dirty = new Map()
let generation = 0
let committed = Date.now()
// From the beginning of a rebalance until the new assignment is known. Records of that time are held back: a record that
// is dropped then is not always read again.
let rebalancing = true
let stopping = false

function gone() {
  rebalancing = true
  dirty.clear()
  if (owned.size > 0) tell('revoked', { p: [...owned.keys()].sort() })
  owned.clear()
}

async function commit(consumer) {
  // Of a member whose session may have ended, the client would repeat the commit after it has joined again, over those of
  // the partitions' new owners.
  if (consumer.lastHeartbeat !== null && Date.now() - consumer.lastHeartbeat > 0.7 * Number(given.session_ms)) return
  const offsets = Object.fromEntries(dirty)
  dirty.clear()
  committed = Date.now()
  if (Object.keys(offsets).length === 0) return
  tell('sent', { o: offsets })
  const [t0, at] = [now(), generation]
  try {
    await consumer.commit({
      offsets: Object.entries(offsets).map(([name, offset]) => ({ ...split(name), offset: BigInt(offset), leaderEpoch: -1 })),
    })
    // A refused commit is sent again by the client after it has joined again, whoever has the partitions then.
    tell('commit', { ok: at === generation ? true : null, o: offsets, t0, gen: at })
  } catch (error) {
    tell('commit', { ok: false, o: offsets, t0, gen: at, why: String(error.message).slice(0, 200) })
  }
}

// A stream that is opened or closed at the same moment makes close fail, and the consumer stays open.
async function close(consumer) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await consumer.close(true)
    } catch (error) {
      if (attempt === 5) throw error
      tell('error', { what: `close: ${error}`.slice(0, 200) })
      await pause(200)
    }
  }
}

async function main() {
  const folder = path.join(process.env.NODE_PATH, '@platformatic/kafka/dist/index.js')
  const { Consumer } = await import(pathToFileURL(folder).href)
  process.stdin.on('end', () => { stopping = true })
  process.stdin.resume()
  const consumer = new Consumer({
    clientId: given.name,
    groupId: given.group,
    bootstrapBrokers: given.bootstrap.split(','),
    retries: 12,
    retryDelay: 100,
    timeout: 10_000,
    metadataMaxAge: Number(given.metadata_ms),
  })
  consumer.on('consumer:group:rebalance', gone)
  consumer.on('consumer:group:join', async ({ assignments, generationId }) => {
    gone()
    generation = generationId
    const topics = assignments ?? []
    const names = topics.flatMap(({ topic, partitions }) => partitions.map(number => nameOf(topic, number))).sort()
    try {
      const found = names.length > 0 ? await consumer.listCommittedOffsets({ topics }) : new Map()
      if (generation !== generationId) return
      for (const name of names) {
        const { topic, partition } = split(name)
        const offset = Number(found.get(topic)?.[partition] ?? -1n)
        owned.set(name, Math.max(offset, 0))
      }
      tell('assigned', { p: names })
      rebalancing = false
    } catch (error) {
      tell('error', { what: String(error).slice(0, 200) })
    }
  })
  tell('ready')
  let stream
  async function open() {
    stream = await consumer.consume({
      topics: given.topics.split(','),
      mode: 'committed',
      fallbackMode: 'earliest',
      autocommit: false,
      maxWaitTime: 100,
      sessionTimeout: Number(given.session_ms),
      heartbeatInterval: Number(given.heartbeat_ms),
      rebalanceTimeout: Number(given.rebalance_ms),
    })
    let failed = false
    let leaving = false
    stream.on('error', error => {
      failed = true
      if (!stopping && !leaving) tell('error', { what: String(error).slice(0, 200) })
    })
    let run = null
    // Records are worked on in one generation. After a rebalance the run goes on where the group is, or is dropped.
    async function work() {
      if (run === null) return
      const { name, from, to } = run
      run = null
      for (;;) {
        while (rebalancing && !stopping) await pause(5)
        if (stopping || owned.get(name) !== from) return
        const [t0, at] = [now(), generation]
        await pause(((to - from + 1) * Number(given.work_us)) / 1000)
        if (rebalancing || generation !== at) continue
        tell('batch', { p: name, from, to, t0 })
        break
      }
      owned.set(name, to + 1)
      dirty.set(name, to + 1)
      if (Date.now() - committed > Number(given.commit_ms)) await commit(consumer)
    }
    try {
      for await (const message of stream) {
        while (rebalancing && !stopping) await pause(5)
        if (stopping) break
        const name = nameOf(message.topic, message.partition)
        const offset = Number(message.offset)
        if (run && (run.name !== name || run.to + 1 !== offset || run.to - run.from >= 49)) await work()
        if (run !== null) {
          run.to = offset
        } else if (owned.get(name) === offset) {
          run = { name, from: offset, to: offset }
        } else if (owned.get(name) < offset) {
          // The stream read ahead in an earlier generation, and does not go back where nothing is committed: another one
          // begins where the group is.
          leaving = true
          break
        }
        if (stream.readableLength === 0) await work()
      }
    } catch (error) {
      if (!failed && !stopping && !leaving) tell('error', { what: String(error).slice(0, 200) })
    }
  }
  const reading = (async () => {
    while (!stopping) {
      try {
        await open()
      } catch (error) {
        tell('error', { what: String(error).slice(0, 200) })
      }
      if (!stopping) await pause(200)
    }
  })()
  while (!stopping) {
    await pause(20)
    if (dirty.size > 0 && Date.now() - committed > Number(given.commit_ms)) await commit(consumer)
  }
  await Promise.race([reading, pause(1000)])
  await commit(consumer)
  gone()
  await close(consumer)
  tell('left')
  process.exit(0)
}

main().catch(error => {
  tell('error', { what: String(error).slice(0, 200) })
  process.exit(1)
})

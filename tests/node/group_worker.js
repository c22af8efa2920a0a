'use strict'
// A member of the group soak: KafkaJS. tests/python/group_worker.py says what its arguments are and what its
// lines mean.

const { Kafka, PartitionAssigners, logLevel } = require('kafkajs')

const given = Object.fromEntries(process.argv.slice(2).map(word => {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}))

// Microseconds of the monotonic clock.
const now = () => Number(process.hrtime.bigint() / 1000n)
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

function tell(e, more = {}) {
  // Written before the next step: a member that is killed has said all that it did.
  require('fs').writeSync(1, JSON.stringify({ e, t: now(), ...more }) + '\n')
}

// KafkaJS names its assignor `RoundRobinAssigner`; who shares a group with others gives it Kafka's name.
const named = name => config => {
  const assigner = PartitionAssigners.roundRobin(config)
  return { ...assigner, name }
}
const ASSIGNERS = { own: PartitionAssigners.roundRobin, roundrobin: named('roundrobin') }

// What it owns, what of that is to be committed, and whether it works on something.
let owned = new Set()
const dirty = new Map()
let committed = Date.now()
let working = false

function gone() {
  dirty.clear()
  if (owned.size > 0) tell('revoked', { p: [...owned].sort() })
  owned = new Set()
}

// Not by the consumer's own method: that tries again what was refused, and a rebalance later it is granted
// for partitions that are somebody else's.
async function commit(commitOffsetsIfNecessary) {
  const offsets = Object.fromEntries(dirty)
  dirty.clear()
  committed = Date.now()
  if (Object.keys(offsets).length === 0) return
  tell('sent', { o: offsets })
  const t0 = now()
  const topics = Object.entries(offsets).map(([name, offset]) => {
    const cut = name.lastIndexOf('-')
    return { topic: name.slice(0, cut), partitions: [{ partition: Number(name.slice(cut + 1)), offset: String(offset) }] }
  })
  try {
    await commitOffsetsIfNecessary({ topics })
    tell('commit', { ok: true, o: offsets, t0 })
  } catch (error) {
    tell('commit', { ok: false, o: offsets, t0, why: `${error.type ?? error.name} ${error.message}`.slice(0, 200) })
    throw error
  }
}

async function main() {
  const kafka = new Kafka({
    clientId: given.name,
    brokers: given.bootstrap.split(','),
    logLevel: logLevel.ERROR,
    retry: { initialRetryTime: 100, retries: 12 },
  })
  const consumer = kafka.consumer({
    groupId: given.group,
    sessionTimeout: Number(given.session_ms),
    heartbeatInterval: Number(given.heartbeat_ms),
    rebalanceTimeout: Number(given.rebalance_ms),
    metadataMaxAge: Number(given.metadata_ms),
    maxWaitTimeInMs: 100,
    partitionAssigners: given.assignors.split(',').map(name => ASSIGNERS[name]),
  })
  // It has no callback before a rebalance: what it has not committed by then is processed again.
  consumer.on(consumer.events.REBALANCING, gone)
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // After an error it joins again without having said that it had to.
    gone()
    for (const [topic, partitions] of Object.entries(payload.memberAssignment)) {
      for (const partition of partitions) owned.add(`${topic}-${partition}`)
    }
    tell('assigned', { p: [...owned].sort() })
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => tell('error', { what: String(payload.error).slice(0, 200) }))
  let stopping = false
  process.stdin.on('end', () => { stopping = true })
  process.stdin.resume()
  tell('ready')
  await consumer.connect()
  await consumer.subscribe({ topics: given.topics.split(','), fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale, commitOffsetsIfNecessary }) => {
      const name = `${batch.topic}-${batch.partition}`
      working = true
      try {
        for (let from = 0; from < batch.messages.length; from += 50) {
          if (!isRunning() || isStale() || stopping || !owned.has(name)) return
          const some = batch.messages.slice(from, from + 50)
          const [first, last] = [Number(some[0].offset), Number(some[some.length - 1].offset)]
          const t0 = now()
          await pause((some.length * Number(given.work_us)) / 1000)
          tell('batch', { p: name, from: first, to: last, t0 })
          resolveOffset(some[some.length - 1].offset)
          dirty.set(name, last + 1)
          const isEnd = from + 50 >= batch.messages.length
          if (isEnd || stopping || Date.now() - committed > Number(given.commit_ms)) await commit(commitOffsetsIfNecessary)
          await heartbeat()
        }
      } finally {
        working = false
      }
    },
  })
  while (!stopping || working) await pause(20)
  gone()
  await consumer.disconnect()
  tell('left')
  process.exit(0)
}

main().catch(error => {
  tell('error', { what: String(error).slice(0, 200) })
  process.exit(1)
})

'use strict'
// KafkaJS: produce with and without gzip, groups that rebalance, commits, admin.
//
// The same options, result lines and transcripts as the Python suites (tests/python/suite.py).

const fs = require('fs')
const { Kafka, CompressionTypes, ConfigResourceTypes, logLevel } = require('kafkajs')

const CASE_MS_MAX = 120_000
const cases = []

function check(holds, why) {
  if (!holds) throw new Error(why)
}

function same(what, expected, actual) {
  const [left, right] = [JSON.stringify(expected), JSON.stringify(actual)]
  check(left === right, `${what}: expected ${left.slice(0, 300)}, got ${right.slice(0, 300)}`)
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

async function eventually(what, msMax, condition) {
  const deadline = Date.now() + msMax
  while (!(await condition())) {
    check(Date.now() < deadline, `${what}: not within ${msMax} ms`)
    await pause(20)
  }
}

// Waits until every partition tells where it ends.
async function led(admin, topic, count) {
  await eventually(`${topic} is led`, 20_000, async () => {
    try {
      return (await admin.fetchTopicOffsets(topic)).length === count
    } catch (error) {
      return false
    }
  })
}

class Context {
  constructor(options, run, name) {
    this.options = options
    this.run = run
    this.caseName = name
    this.lines = []
    this.open = []
    this.kafka = new Kafka({
      clientId: 'kafkajs-suite',
      brokers: [options.bootstrap],
      logLevel: logLevel.NOTHING,
      retry: { initialRetryTime: 50, retries: 12 },
    })
  }

  // A topic or group name that no other case and no other run uses.
  name(what) {
    return `${this.run}-kafkajs.${this.caseName}-${what}`
  }

  line(text) {
    const port = this.options.bootstrap.split(':').pop()
    this.lines.push(text.replaceAll(this.run, '<run>').replaceAll(this.options.bootstrap, '<broker>').replaceAll(port, '<port>'))
  }

  async connected(client) {
    await client.connect()
    this.open.push(client)
    return client
  }

  admin() {
    return this.connected(this.kafka.admin())
  }

  async topic(what, numPartitions, configEntries = []) {
    const admin = await this.admin()
    const topic = this.name(what)
    same('created', true, await admin.createTopics({ topics: [{ topic, numPartitions, configEntries }], waitForLeaders: false }))
    await led(admin, topic, numPartitions)
    return topic
  }

  // Runs consumers of one group until `done`; messages go to `take`.
  async consume(groupId, topic, take, done, options = {}) {
    const consumer = await this.connected(
      this.kafka.consumer({ groupId, sessionTimeout: 10_000, heartbeatInterval: 500, maxWaitTimeInMs: 100, ...options })
    )
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({ autoCommit: false, eachMessage: async got => take(got, consumer) })
    await eventually('consumed', 40_000, done)
    return consumer
  }
}

function add(name, body) {
  cases.push([name, body])
}

function records(count) {
  const out = []
  for (let i = 0; i < count; i++) {
    out.push({
      partition: i % 3,
      key: [null, '', `k${i}`][i % 3],
      value: [Buffer.alloc(0), Buffer.alloc(3000, i % 251), Buffer.from(`value ${i}`), null][i % 4],
      headers: i % 2 ? { one: `h${i}`, two: Buffer.from([i % 256]) } : {},
      timestamp: String(1_700_000_000_000 + i * 10),
    })
  }
  return out
}

function shown(message) {
  const headers = Object.entries(message.headers ?? {}).map(([k, v]) => [k, Buffer.from(v).toString('hex')])
  const text = v => (v === null ? null : Buffer.from(v).toString('hex').slice(0, 60))
  return [text(message.key), text(message.value), message.timestamp, headers]
}

for (const [codec, compression] of [['none', CompressionTypes.None], ['gzip', CompressionTypes.GZIP]]) {
  for (const idempotent of [false, true]) {
    add(`round-trip-${codec}${idempotent ? '-idempotent' : ''}`, async c => {
      const topic = await c.topic('t', 3)
      const producer = await c.connected(c.kafka.producer({ idempotent, maxInFlightRequests: 1 }))
      const sent = records(90)
      for (let from = 0; from < sent.length; from += 30) {
        const answers = await producer.send({ topic, acks: -1, compression, messages: sent.slice(from, from + 30) })
        for (const one of answers.sort((a, b) => a.partition - b.partition)) {
          same('base offset', String(from / 3), one.baseOffset)
          c.line(`partition ${one.partition} error ${one.errorCode} base ${one.baseOffset} start ${one.logStartOffset}`)
        }
      }
      const got = [[], [], []]
      const count = () => got.reduce((sum, one) => sum + one.length, 0)
      await c.consume(c.name('g'), topic, ({ partition, message }) => got[partition].push(message), () => count() >= sent.length)
      for (let p = 0; p < 3; p++) {
        same(`offsets of ${p}`, [...Array(30).keys()].map(String), got[p].map(m => m.offset))
        same(`records of ${p}`, sent.filter(r => r.partition === p).map(shown), got[p].map(shown))
      }
    })
  }
}

add('acks', async c => {
  const topic = await c.topic('t', 1)
  const producer = await c.connected(c.kafka.producer())
  for (const acks of [0, 1, -1]) {
    const answer = await producer.send({ topic, acks, messages: [{ value: `acks ${acks}` }] })
    c.line(`acks ${acks}: ${JSON.stringify((answer ?? []).map(one => [one.errorCode, one.partition]))}`)
  }
  const admin = await c.admin()
  await eventually('three records', 10_000, async () => (await admin.fetchTopicOffsets(topic))[0].high === '3')
})

add('commits-are-kept', async c => {
  const topic = await c.topic('t', 1)
  const producer = await c.connected(c.kafka.producer())
  await producer.send({ topic, messages: records(20).map(r => ({ ...r, partition: 0 })) })
  const group = c.name('g')
  const first = []
  const consumer = await c.consume(group, topic, ({ message }) => first.push(message.offset), () => first.length >= 20)
  await consumer.commitOffsets([{ topic, partition: 0, offset: '12', metadata: 'twelve' }])
  await consumer.disconnect()
  const admin = await c.admin()
  const offsets = await admin.fetchOffsets({ groupId: group, topics: [topic] })
  c.line(JSON.stringify(offsets))
  const second = []
  await c.consume(group, topic, ({ message }) => second.push(message.offset), () => second.length >= 8)
  same('goes on', [...Array(8).keys()].map(i => String(i + 12)), second)
})

add('two-members', async c => {
  const topic = await c.topic('t', 4)
  const group = c.name('g')
  const producer = await c.connected(c.kafka.producer())
  const owners = new Map()
  const holds = new Map()
  const member = async who => {
    const consumer = await c.connected(
      c.kafka.consumer({ groupId: group, sessionTimeout: 10_000, heartbeatInterval: 200, rebalanceTimeout: 5_000, maxWaitTimeInMs: 100 })
    )
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => holds.set(who, payload.memberAssignment[topic] ?? []))
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({ eachMessage: async ({ partition }) => owners.set(partition, who) })
    return consumer
  }
  await member('a')
  const b = await member('b')
  const counts = () => [...holds.values()].map(held => held.length).sort()
  await eventually('two partitions each', 40_000, () => JSON.stringify(counts()) === '[2,2]')
  for (let partition = 0; partition < 4; partition++) {
    await producer.send({ topic, messages: [{ partition, value: 'x' }] })
  }
  await eventually('all are read', 20_000, () => owners.size === 4)
  same('by the two', 2, new Set(owners.values()).size)
  holds.delete('b')
  await b.disconnect()
  await eventually('one has all', 40_000, () => JSON.stringify(counts()) === '[4]')
  const described = await (await c.admin()).describeGroups([group])
  c.line(JSON.stringify(described.groups.map(g => [g.errorCode, g.groupId, g.state, g.protocolType, g.protocol, g.members.length])))
})

add('seek-and-resume', async c => {
  const topic = await c.topic('t', 1)
  const producer = await c.connected(c.kafka.producer())
  await producer.send({ topic, messages: records(10).map(r => ({ ...r, partition: 0 })) })
  const got = []
  const consumer = await c.consume(c.name('g'), topic, ({ message }) => got.push(message.offset), () => got.length >= 10)
  got.length = 0
  consumer.seek({ topic, partition: 0, offset: '7' })
  await eventually('read again', 20_000, () => got.length >= 3)
  same('from 7', ['7', '8', '9'], got)
})

add('admin', async c => {
  const admin = await c.admin()
  const topic = await c.topic('t', 2, [{ name: 'retention.ms', value: '86400000' }])
  const producer = await c.connected(c.kafka.producer())
  await producer.send({ topic, messages: records(12).map(r => ({ ...r, partition: 0 })) })
  const attempt = async (what, call) => {
    try {
      c.line(`${what} = ${JSON.stringify(await call())}`)
    } catch (error) {
      c.line(`${what} ! ${error.type ?? error.name}`)
    }
  }
  await attempt('create again', () => admin.createTopics({ topics: [{ topic }] }))
  await attempt('a bad name', () => admin.createTopics({ topics: [{ topic: 'a b' }] }))
  await attempt('a bad config', () => admin.createTopics({ topics: [{ topic: c.name('x'), configEntries: [{ name: 'no.such', value: '1' }] }] }))
  await attempt('partitions', () => admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] }))
  await attempt('fewer partitions', () => admin.createPartitions({ topicPartitions: [{ topic, count: 1 }] }))
  await led(admin, topic, 3)
  const metadata = await admin.fetchTopicMetadata({ topics: [topic] })
  c.line(JSON.stringify(metadata.topics[0].partitions.map(p => [p.partitionErrorCode, p.partitionId, p.leader, p.replicas, p.isr]).sort()))
  const byPartition = list => list.sort((a, b) => a.partition - b.partition)
  await attempt('offsets', async () => byPartition(await admin.fetchTopicOffsets(topic)))
  await attempt('offsets by time', async () => byPartition(await admin.fetchTopicOffsetsByTimestamp(topic, 1_700_000_000_055)))
  await attempt('delete records', () => admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '5' }] }))
  await attempt('offsets after that', async () => byPartition(await admin.fetchTopicOffsets(topic)))
  const described = async () => {
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['retention.ms', 'cleanup.policy'] }]
    const answer = await admin.describeConfigs({ resources, includeSynonyms: false })
    return answer.resources[0].configEntries.map(e => [e.configName, e.configValue, e.isDefault, e.readOnly]).sort()
  }
  await attempt('configs', described)
  const change = configEntries => admin.alterConfigs({ validateOnly: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }] })
  await attempt('alter', async () => (await change([{ name: 'cleanup.policy', value: 'compact' }])).resources.map(r => r.errorCode))
  await attempt('alter badly', () => change([{ name: 'cleanup.policy', value: 'shred' }]))
  // Apache Kafka's brokers hear of it a little later.
  await eventually('the config is there', 10_000, async () => (await described()).some(e => e[1] === 'compact'))
  await attempt('configs after that', described)
  const group = c.name('g')
  await attempt('set offsets', () => admin.setOffsets({ groupId: group, topic, partitions: [{ partition: 0, offset: '6' }] }))
  await attempt('group offsets', async () => (await admin.fetchOffsets({ groupId: group, topics: [topic] })).map(t => byPartition(t.partitions)))
  await attempt('listed', async () => (await admin.listGroups()).groups.filter(g => g.groupId === group))
  await attempt('delete group', () => admin.deleteGroups([group]))
  await attempt('delete group again', () => admin.deleteGroups([group]))
  const cluster = await admin.describeCluster()
  c.line(`${cluster.brokers.length} brokers, controller ${cluster.controller}`)
  await attempt('delete topic', () => admin.deleteTopics({ topics: [topic] }))
  await eventually('the topic is gone', 10_000, async () => !(await admin.listTopics()).includes(topic))
})

require('./kafkajs_transactions')(add, { same, check, eventually, records, shown })

async function one(options, run, [name, body]) {
  const context = new Context(options, run, name)
  const start = Date.now()
  let failure = null
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${CASE_MS_MAX} ms`)), CASE_MS_MAX)
  })
  try {
    await Promise.race([body(context), late])
  } catch (error) {
    failure = `${error.name} ${error.message}`.replace(/\s+/g, ' ')
    context.lines.push('E case failed')
  }
  clearTimeout(timer)
  const took = Date.now() - start
  console.log(failure === null ? `pass kafkajs.${name} ${took}` : `fail kafkajs.${name} ${took}: ${failure}`)
  await Promise.race([Promise.allSettled(context.open.map(client => client.disconnect())), pause(5_000)])
  return { name, lines: context.lines, failed: failure !== null }
}

async function main() {
  const options = { case: '' }
  for (let i = 2; i + 1 < process.argv.length; i += 2) options[process.argv[i].replace(/^--/, '')] = process.argv[i + 1]
  check(options.bootstrap, 'kafkajs_suite.js --bootstrap HOST:PORT [--case SUBSTRING] [--transcript FILE]')
  const run = 'r' + Math.random().toString(36).slice(2, 6).padEnd(4, 'x')
  const chosen = cases.filter(([name]) => name.includes(options.case))
  const done = await Promise.all(chosen.map(entry => one(options, run, entry)))
  if (options.transcript) {
    done.sort((a, b) => (a.name < b.name ? -1 : 1))
    fs.writeFileSync(options.transcript, done.map(d => [`## kafkajs.${d.name}`, ...d.lines].join('\n') + '\n').join(''))
  }
  // Clients of a case that failed must not keep a finished run alive.
  process.exit(done.some(d => d.failed) ? 1 : 0)
}

main()

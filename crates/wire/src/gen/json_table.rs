//! Finds a message by name: for tools and tests that print any message.

use super::prelude::*;

type Outcome = Decoded<(serde_json::Value, Result<Vec<u8>, EncodeError>, usize)>;

fn one<M: Message>(bytes: &Bytes, version: i16) -> Outcome {
    let mut r = Reader::shared(bytes);
    let m = M::decode(&mut r, version)?;
    let left = r.remaining();
    let mut w = Writer::new();
    let encoded = m.encode(&mut w, version).map(|()| w.to_vec());
    Ok((m.to_json(version), encoded, left))
}

/// Reads `bytes` as the named message; gives its JSON, its bytes written again, and how many bytes were left.
pub fn inspect(name: &str, bytes: &Bytes, version: i16) -> Option<Outcome> {
    Some(match name {
        "AbortTransactionRecord" => one::<super::AbortTransactionRecord>(bytes, version),
        "AccessControlEntryRecord" => one::<super::AccessControlEntryRecord>(bytes, version),
        "AddOffsetsToTxnRequest" => one::<super::AddOffsetsToTxnRequest>(bytes, version),
        "AddOffsetsToTxnResponse" => one::<super::AddOffsetsToTxnResponse>(bytes, version),
        "AddPartitionsToTxnRequest" => one::<super::AddPartitionsToTxnRequest>(bytes, version),
        "AddPartitionsToTxnResponse" => one::<super::AddPartitionsToTxnResponse>(bytes, version),
        "AddRaftVoterRequest" => one::<super::AddRaftVoterRequest>(bytes, version),
        "AddRaftVoterResponse" => one::<super::AddRaftVoterResponse>(bytes, version),
        "AllocateProducerIdsRequest" => one::<super::AllocateProducerIdsRequest>(bytes, version),
        "AllocateProducerIdsResponse" => one::<super::AllocateProducerIdsResponse>(bytes, version),
        "AlterClientQuotasRequest" => one::<super::AlterClientQuotasRequest>(bytes, version),
        "AlterClientQuotasResponse" => one::<super::AlterClientQuotasResponse>(bytes, version),
        "AlterConfigsRequest" => one::<super::AlterConfigsRequest>(bytes, version),
        "AlterConfigsResponse" => one::<super::AlterConfigsResponse>(bytes, version),
        "AlterPartitionReassignmentsRequest" => {
            one::<super::AlterPartitionReassignmentsRequest>(bytes, version)
        }
        "AlterPartitionReassignmentsResponse" => {
            one::<super::AlterPartitionReassignmentsResponse>(bytes, version)
        }
        "AlterPartitionRequest" => one::<super::AlterPartitionRequest>(bytes, version),
        "AlterPartitionResponse" => one::<super::AlterPartitionResponse>(bytes, version),
        "AlterReplicaLogDirsRequest" => one::<super::AlterReplicaLogDirsRequest>(bytes, version),
        "AlterReplicaLogDirsResponse" => one::<super::AlterReplicaLogDirsResponse>(bytes, version),
        "AlterShareGroupOffsetsRequest" => {
            one::<super::AlterShareGroupOffsetsRequest>(bytes, version)
        }
        "AlterShareGroupOffsetsResponse" => {
            one::<super::AlterShareGroupOffsetsResponse>(bytes, version)
        }
        "AlterUserScramCredentialsRequest" => {
            one::<super::AlterUserScramCredentialsRequest>(bytes, version)
        }
        "AlterUserScramCredentialsResponse" => {
            one::<super::AlterUserScramCredentialsResponse>(bytes, version)
        }
        "ApiVersionsRequest" => one::<super::ApiVersionsRequest>(bytes, version),
        "ApiVersionsResponse" => one::<super::ApiVersionsResponse>(bytes, version),
        "AssignReplicasToDirsRequest" => one::<super::AssignReplicasToDirsRequest>(bytes, version),
        "AssignReplicasToDirsResponse" => {
            one::<super::AssignReplicasToDirsResponse>(bytes, version)
        }
        "BeginQuorumEpochRequest" => one::<super::BeginQuorumEpochRequest>(bytes, version),
        "BeginQuorumEpochResponse" => one::<super::BeginQuorumEpochResponse>(bytes, version),
        "BeginTransactionRecord" => one::<super::BeginTransactionRecord>(bytes, version),
        "BrokerHeartbeatRequest" => one::<super::BrokerHeartbeatRequest>(bytes, version),
        "BrokerHeartbeatResponse" => one::<super::BrokerHeartbeatResponse>(bytes, version),
        "BrokerRegistrationChangeRecord" => {
            one::<super::BrokerRegistrationChangeRecord>(bytes, version)
        }
        "BrokerRegistrationRequest" => one::<super::BrokerRegistrationRequest>(bytes, version),
        "BrokerRegistrationResponse" => one::<super::BrokerRegistrationResponse>(bytes, version),
        "ClearElrRecord" => one::<super::ClearElrRecord>(bytes, version),
        "ClientQuotaRecord" => one::<super::ClientQuotaRecord>(bytes, version),
        "ConfigRecord" => one::<super::ConfigRecord>(bytes, version),
        "ConsumerGroupCurrentMemberAssignmentKey" => {
            one::<super::ConsumerGroupCurrentMemberAssignmentKey>(bytes, version)
        }
        "ConsumerGroupCurrentMemberAssignmentValue" => {
            one::<super::ConsumerGroupCurrentMemberAssignmentValue>(bytes, version)
        }
        "ConsumerGroupDescribeRequest" => {
            one::<super::ConsumerGroupDescribeRequest>(bytes, version)
        }
        "ConsumerGroupDescribeResponse" => {
            one::<super::ConsumerGroupDescribeResponse>(bytes, version)
        }
        "ConsumerGroupHeartbeatRequest" => {
            one::<super::ConsumerGroupHeartbeatRequest>(bytes, version)
        }
        "ConsumerGroupHeartbeatResponse" => {
            one::<super::ConsumerGroupHeartbeatResponse>(bytes, version)
        }
        "ConsumerGroupMemberMetadataKey" => {
            one::<super::ConsumerGroupMemberMetadataKey>(bytes, version)
        }
        "ConsumerGroupMemberMetadataValue" => {
            one::<super::ConsumerGroupMemberMetadataValue>(bytes, version)
        }
        "ConsumerGroupMetadataKey" => one::<super::ConsumerGroupMetadataKey>(bytes, version),
        "ConsumerGroupMetadataValue" => one::<super::ConsumerGroupMetadataValue>(bytes, version),
        "ConsumerGroupPartitionMetadataKey" => {
            one::<super::ConsumerGroupPartitionMetadataKey>(bytes, version)
        }
        "ConsumerGroupPartitionMetadataValue" => {
            one::<super::ConsumerGroupPartitionMetadataValue>(bytes, version)
        }
        "ConsumerGroupRegularExpressionKey" => {
            one::<super::ConsumerGroupRegularExpressionKey>(bytes, version)
        }
        "ConsumerGroupRegularExpressionValue" => {
            one::<super::ConsumerGroupRegularExpressionValue>(bytes, version)
        }
        "ConsumerGroupTargetAssignmentMemberKey" => {
            one::<super::ConsumerGroupTargetAssignmentMemberKey>(bytes, version)
        }
        "ConsumerGroupTargetAssignmentMemberValue" => {
            one::<super::ConsumerGroupTargetAssignmentMemberValue>(bytes, version)
        }
        "ConsumerGroupTargetAssignmentMetadataKey" => {
            one::<super::ConsumerGroupTargetAssignmentMetadataKey>(bytes, version)
        }
        "ConsumerGroupTargetAssignmentMetadataValue" => {
            one::<super::ConsumerGroupTargetAssignmentMetadataValue>(bytes, version)
        }
        "ConsumerProtocolAssignment" => one::<super::ConsumerProtocolAssignment>(bytes, version),
        "ConsumerProtocolSubscription" => {
            one::<super::ConsumerProtocolSubscription>(bytes, version)
        }
        "ControlRecordTypeSchema" => one::<super::ControlRecordTypeSchema>(bytes, version),
        "ControllerRegistrationRequest" => {
            one::<super::ControllerRegistrationRequest>(bytes, version)
        }
        "ControllerRegistrationResponse" => {
            one::<super::ControllerRegistrationResponse>(bytes, version)
        }
        "CreateAclsRequest" => one::<super::CreateAclsRequest>(bytes, version),
        "CreateAclsResponse" => one::<super::CreateAclsResponse>(bytes, version),
        "CreateDelegationTokenRequest" => {
            one::<super::CreateDelegationTokenRequest>(bytes, version)
        }
        "CreateDelegationTokenResponse" => {
            one::<super::CreateDelegationTokenResponse>(bytes, version)
        }
        "CreatePartitionsRequest" => one::<super::CreatePartitionsRequest>(bytes, version),
        "CreatePartitionsResponse" => one::<super::CreatePartitionsResponse>(bytes, version),
        "CreateTopicsRequest" => one::<super::CreateTopicsRequest>(bytes, version),
        "CreateTopicsResponse" => one::<super::CreateTopicsResponse>(bytes, version),
        "DefaultPrincipalData" => one::<super::DefaultPrincipalData>(bytes, version),
        "DelegationTokenRecord" => one::<super::DelegationTokenRecord>(bytes, version),
        "DeleteAclsRequest" => one::<super::DeleteAclsRequest>(bytes, version),
        "DeleteAclsResponse" => one::<super::DeleteAclsResponse>(bytes, version),
        "DeleteGroupsRequest" => one::<super::DeleteGroupsRequest>(bytes, version),
        "DeleteGroupsResponse" => one::<super::DeleteGroupsResponse>(bytes, version),
        "DeleteRecordsRequest" => one::<super::DeleteRecordsRequest>(bytes, version),
        "DeleteRecordsResponse" => one::<super::DeleteRecordsResponse>(bytes, version),
        "DeleteShareGroupOffsetsRequest" => {
            one::<super::DeleteShareGroupOffsetsRequest>(bytes, version)
        }
        "DeleteShareGroupOffsetsResponse" => {
            one::<super::DeleteShareGroupOffsetsResponse>(bytes, version)
        }
        "DeleteShareGroupStateRequest" => {
            one::<super::DeleteShareGroupStateRequest>(bytes, version)
        }
        "DeleteShareGroupStateResponse" => {
            one::<super::DeleteShareGroupStateResponse>(bytes, version)
        }
        "DeleteTopicsRequest" => one::<super::DeleteTopicsRequest>(bytes, version),
        "DeleteTopicsResponse" => one::<super::DeleteTopicsResponse>(bytes, version),
        "DescribeAclsRequest" => one::<super::DescribeAclsRequest>(bytes, version),
        "DescribeAclsResponse" => one::<super::DescribeAclsResponse>(bytes, version),
        "DescribeClientQuotasRequest" => one::<super::DescribeClientQuotasRequest>(bytes, version),
        "DescribeClientQuotasResponse" => {
            one::<super::DescribeClientQuotasResponse>(bytes, version)
        }
        "DescribeClusterRequest" => one::<super::DescribeClusterRequest>(bytes, version),
        "DescribeClusterResponse" => one::<super::DescribeClusterResponse>(bytes, version),
        "DescribeConfigsRequest" => one::<super::DescribeConfigsRequest>(bytes, version),
        "DescribeConfigsResponse" => one::<super::DescribeConfigsResponse>(bytes, version),
        "DescribeDelegationTokenRequest" => {
            one::<super::DescribeDelegationTokenRequest>(bytes, version)
        }
        "DescribeDelegationTokenResponse" => {
            one::<super::DescribeDelegationTokenResponse>(bytes, version)
        }
        "DescribeGroupsRequest" => one::<super::DescribeGroupsRequest>(bytes, version),
        "DescribeGroupsResponse" => one::<super::DescribeGroupsResponse>(bytes, version),
        "DescribeLogDirsRequest" => one::<super::DescribeLogDirsRequest>(bytes, version),
        "DescribeLogDirsResponse" => one::<super::DescribeLogDirsResponse>(bytes, version),
        "DescribeProducersRequest" => one::<super::DescribeProducersRequest>(bytes, version),
        "DescribeProducersResponse" => one::<super::DescribeProducersResponse>(bytes, version),
        "DescribeQuorumRequest" => one::<super::DescribeQuorumRequest>(bytes, version),
        "DescribeQuorumResponse" => one::<super::DescribeQuorumResponse>(bytes, version),
        "DescribeShareGroupOffsetsRequest" => {
            one::<super::DescribeShareGroupOffsetsRequest>(bytes, version)
        }
        "DescribeShareGroupOffsetsResponse" => {
            one::<super::DescribeShareGroupOffsetsResponse>(bytes, version)
        }
        "DescribeTopicPartitionsRequest" => {
            one::<super::DescribeTopicPartitionsRequest>(bytes, version)
        }
        "DescribeTopicPartitionsResponse" => {
            one::<super::DescribeTopicPartitionsResponse>(bytes, version)
        }
        "DescribeTransactionsRequest" => one::<super::DescribeTransactionsRequest>(bytes, version),
        "DescribeTransactionsResponse" => {
            one::<super::DescribeTransactionsResponse>(bytes, version)
        }
        "DescribeUserScramCredentialsRequest" => {
            one::<super::DescribeUserScramCredentialsRequest>(bytes, version)
        }
        "DescribeUserScramCredentialsResponse" => {
            one::<super::DescribeUserScramCredentialsResponse>(bytes, version)
        }
        "ElectLeadersRequest" => one::<super::ElectLeadersRequest>(bytes, version),
        "ElectLeadersResponse" => one::<super::ElectLeadersResponse>(bytes, version),
        "EndQuorumEpochRequest" => one::<super::EndQuorumEpochRequest>(bytes, version),
        "EndQuorumEpochResponse" => one::<super::EndQuorumEpochResponse>(bytes, version),
        "EndTransactionRecord" => one::<super::EndTransactionRecord>(bytes, version),
        "EndTxnMarker" => one::<super::EndTxnMarker>(bytes, version),
        "EndTxnRequest" => one::<super::EndTxnRequest>(bytes, version),
        "EndTxnResponse" => one::<super::EndTxnResponse>(bytes, version),
        "EnvelopeRequest" => one::<super::EnvelopeRequest>(bytes, version),
        "EnvelopeResponse" => one::<super::EnvelopeResponse>(bytes, version),
        "ExpireDelegationTokenRequest" => {
            one::<super::ExpireDelegationTokenRequest>(bytes, version)
        }
        "ExpireDelegationTokenResponse" => {
            one::<super::ExpireDelegationTokenResponse>(bytes, version)
        }
        "FeatureLevelRecord" => one::<super::FeatureLevelRecord>(bytes, version),
        "FenceBrokerRecord" => one::<super::FenceBrokerRecord>(bytes, version),
        "FetchRequest" => one::<super::FetchRequest>(bytes, version),
        "FetchResponse" => one::<super::FetchResponse>(bytes, version),
        "FetchSnapshotRequest" => one::<super::FetchSnapshotRequest>(bytes, version),
        "FetchSnapshotResponse" => one::<super::FetchSnapshotResponse>(bytes, version),
        "FindCoordinatorRequest" => one::<super::FindCoordinatorRequest>(bytes, version),
        "FindCoordinatorResponse" => one::<super::FindCoordinatorResponse>(bytes, version),
        "GetTelemetrySubscriptionsRequest" => {
            one::<super::GetTelemetrySubscriptionsRequest>(bytes, version)
        }
        "GetTelemetrySubscriptionsResponse" => {
            one::<super::GetTelemetrySubscriptionsResponse>(bytes, version)
        }
        "GroupMetadataKey" => one::<super::GroupMetadataKey>(bytes, version),
        "GroupMetadataValue" => one::<super::GroupMetadataValue>(bytes, version),
        "HeartbeatRequest" => one::<super::HeartbeatRequest>(bytes, version),
        "HeartbeatResponse" => one::<super::HeartbeatResponse>(bytes, version),
        "IncrementalAlterConfigsRequest" => {
            one::<super::IncrementalAlterConfigsRequest>(bytes, version)
        }
        "IncrementalAlterConfigsResponse" => {
            one::<super::IncrementalAlterConfigsResponse>(bytes, version)
        }
        "InitProducerIdRequest" => one::<super::InitProducerIdRequest>(bytes, version),
        "InitProducerIdResponse" => one::<super::InitProducerIdResponse>(bytes, version),
        "InitializeShareGroupStateRequest" => {
            one::<super::InitializeShareGroupStateRequest>(bytes, version)
        }
        "InitializeShareGroupStateResponse" => {
            one::<super::InitializeShareGroupStateResponse>(bytes, version)
        }
        "JoinGroupRequest" => one::<super::JoinGroupRequest>(bytes, version),
        "JoinGroupResponse" => one::<super::JoinGroupResponse>(bytes, version),
        "KRaftVersionRecord" => one::<super::KRaftVersionRecord>(bytes, version),
        "LeaderChangeMessage" => one::<super::LeaderChangeMessage>(bytes, version),
        "LeaveGroupRequest" => one::<super::LeaveGroupRequest>(bytes, version),
        "LeaveGroupResponse" => one::<super::LeaveGroupResponse>(bytes, version),
        "LegacyOffsetCommitKey" => one::<super::LegacyOffsetCommitKey>(bytes, version),
        "LegacyOffsetCommitValue" => one::<super::LegacyOffsetCommitValue>(bytes, version),
        "ListConfigResourcesRequest" => one::<super::ListConfigResourcesRequest>(bytes, version),
        "ListConfigResourcesResponse" => one::<super::ListConfigResourcesResponse>(bytes, version),
        "ListGroupsRequest" => one::<super::ListGroupsRequest>(bytes, version),
        "ListGroupsResponse" => one::<super::ListGroupsResponse>(bytes, version),
        "ListOffsetsRequest" => one::<super::ListOffsetsRequest>(bytes, version),
        "ListOffsetsResponse" => one::<super::ListOffsetsResponse>(bytes, version),
        "ListPartitionReassignmentsRequest" => {
            one::<super::ListPartitionReassignmentsRequest>(bytes, version)
        }
        "ListPartitionReassignmentsResponse" => {
            one::<super::ListPartitionReassignmentsResponse>(bytes, version)
        }
        "ListTransactionsRequest" => one::<super::ListTransactionsRequest>(bytes, version),
        "ListTransactionsResponse" => one::<super::ListTransactionsResponse>(bytes, version),
        "MetadataRequest" => one::<super::MetadataRequest>(bytes, version),
        "MetadataResponse" => one::<super::MetadataResponse>(bytes, version),
        "NoOpRecord" => one::<super::NoOpRecord>(bytes, version),
        "OffsetCommitKey" => one::<super::OffsetCommitKey>(bytes, version),
        "OffsetCommitRequest" => one::<super::OffsetCommitRequest>(bytes, version),
        "OffsetCommitResponse" => one::<super::OffsetCommitResponse>(bytes, version),
        "OffsetCommitValue" => one::<super::OffsetCommitValue>(bytes, version),
        "OffsetDeleteRequest" => one::<super::OffsetDeleteRequest>(bytes, version),
        "OffsetDeleteResponse" => one::<super::OffsetDeleteResponse>(bytes, version),
        "OffsetFetchRequest" => one::<super::OffsetFetchRequest>(bytes, version),
        "OffsetFetchResponse" => one::<super::OffsetFetchResponse>(bytes, version),
        "OffsetForLeaderEpochRequest" => one::<super::OffsetForLeaderEpochRequest>(bytes, version),
        "OffsetForLeaderEpochResponse" => {
            one::<super::OffsetForLeaderEpochResponse>(bytes, version)
        }
        "PartitionChangeRecord" => one::<super::PartitionChangeRecord>(bytes, version),
        "PartitionRecord" => one::<super::PartitionRecord>(bytes, version),
        "ProduceRequest" => one::<super::ProduceRequest>(bytes, version),
        "ProduceResponse" => one::<super::ProduceResponse>(bytes, version),
        "ProducerIdsRecord" => one::<super::ProducerIdsRecord>(bytes, version),
        "ProducerSnapshot" => one::<super::ProducerSnapshot>(bytes, version),
        "PushTelemetryRequest" => one::<super::PushTelemetryRequest>(bytes, version),
        "PushTelemetryResponse" => one::<super::PushTelemetryResponse>(bytes, version),
        "QuorumStateData" => one::<super::QuorumStateData>(bytes, version),
        "ReadShareGroupStateRequest" => one::<super::ReadShareGroupStateRequest>(bytes, version),
        "ReadShareGroupStateResponse" => one::<super::ReadShareGroupStateResponse>(bytes, version),
        "ReadShareGroupStateSummaryRequest" => {
            one::<super::ReadShareGroupStateSummaryRequest>(bytes, version)
        }
        "ReadShareGroupStateSummaryResponse" => {
            one::<super::ReadShareGroupStateSummaryResponse>(bytes, version)
        }
        "RegisterBrokerRecord" => one::<super::RegisterBrokerRecord>(bytes, version),
        "RegisterControllerRecord" => one::<super::RegisterControllerRecord>(bytes, version),
        "RemoteLogSegmentMetadataRecord" => {
            one::<super::RemoteLogSegmentMetadataRecord>(bytes, version)
        }
        "RemoteLogSegmentMetadataSnapshotRecord" => {
            one::<super::RemoteLogSegmentMetadataSnapshotRecord>(bytes, version)
        }
        "RemoteLogSegmentMetadataUpdateRecord" => {
            one::<super::RemoteLogSegmentMetadataUpdateRecord>(bytes, version)
        }
        "RemotePartitionDeleteMetadataRecord" => {
            one::<super::RemotePartitionDeleteMetadataRecord>(bytes, version)
        }
        "RemoveAccessControlEntryRecord" => {
            one::<super::RemoveAccessControlEntryRecord>(bytes, version)
        }
        "RemoveDelegationTokenRecord" => one::<super::RemoveDelegationTokenRecord>(bytes, version),
        "RemoveRaftVoterRequest" => one::<super::RemoveRaftVoterRequest>(bytes, version),
        "RemoveRaftVoterResponse" => one::<super::RemoveRaftVoterResponse>(bytes, version),
        "RemoveTopicRecord" => one::<super::RemoveTopicRecord>(bytes, version),
        "RemoveUserScramCredentialRecord" => {
            one::<super::RemoveUserScramCredentialRecord>(bytes, version)
        }
        "RenewDelegationTokenRequest" => one::<super::RenewDelegationTokenRequest>(bytes, version),
        "RenewDelegationTokenResponse" => {
            one::<super::RenewDelegationTokenResponse>(bytes, version)
        }
        "RequestHeader" => one::<super::RequestHeader>(bytes, version),
        "ResponseHeader" => one::<super::ResponseHeader>(bytes, version),
        "SaslAuthenticateRequest" => one::<super::SaslAuthenticateRequest>(bytes, version),
        "SaslAuthenticateResponse" => one::<super::SaslAuthenticateResponse>(bytes, version),
        "SaslHandshakeRequest" => one::<super::SaslHandshakeRequest>(bytes, version),
        "SaslHandshakeResponse" => one::<super::SaslHandshakeResponse>(bytes, version),
        "ShareAcknowledgeRequest" => one::<super::ShareAcknowledgeRequest>(bytes, version),
        "ShareAcknowledgeResponse" => one::<super::ShareAcknowledgeResponse>(bytes, version),
        "ShareFetchRequest" => one::<super::ShareFetchRequest>(bytes, version),
        "ShareFetchResponse" => one::<super::ShareFetchResponse>(bytes, version),
        "ShareGroupCurrentMemberAssignmentKey" => {
            one::<super::ShareGroupCurrentMemberAssignmentKey>(bytes, version)
        }
        "ShareGroupCurrentMemberAssignmentValue" => {
            one::<super::ShareGroupCurrentMemberAssignmentValue>(bytes, version)
        }
        "ShareGroupDescribeRequest" => one::<super::ShareGroupDescribeRequest>(bytes, version),
        "ShareGroupDescribeResponse" => one::<super::ShareGroupDescribeResponse>(bytes, version),
        "ShareGroupHeartbeatRequest" => one::<super::ShareGroupHeartbeatRequest>(bytes, version),
        "ShareGroupHeartbeatResponse" => one::<super::ShareGroupHeartbeatResponse>(bytes, version),
        "ShareGroupMemberMetadataKey" => one::<super::ShareGroupMemberMetadataKey>(bytes, version),
        "ShareGroupMemberMetadataValue" => {
            one::<super::ShareGroupMemberMetadataValue>(bytes, version)
        }
        "ShareGroupMetadataKey" => one::<super::ShareGroupMetadataKey>(bytes, version),
        "ShareGroupMetadataValue" => one::<super::ShareGroupMetadataValue>(bytes, version),
        "ShareGroupStatePartitionMetadataKey" => {
            one::<super::ShareGroupStatePartitionMetadataKey>(bytes, version)
        }
        "ShareGroupStatePartitionMetadataValue" => {
            one::<super::ShareGroupStatePartitionMetadataValue>(bytes, version)
        }
        "ShareGroupTargetAssignmentMemberKey" => {
            one::<super::ShareGroupTargetAssignmentMemberKey>(bytes, version)
        }
        "ShareGroupTargetAssignmentMemberValue" => {
            one::<super::ShareGroupTargetAssignmentMemberValue>(bytes, version)
        }
        "ShareGroupTargetAssignmentMetadataKey" => {
            one::<super::ShareGroupTargetAssignmentMetadataKey>(bytes, version)
        }
        "ShareGroupTargetAssignmentMetadataValue" => {
            one::<super::ShareGroupTargetAssignmentMetadataValue>(bytes, version)
        }
        "ShareSnapshotKey" => one::<super::ShareSnapshotKey>(bytes, version),
        "ShareSnapshotValue" => one::<super::ShareSnapshotValue>(bytes, version),
        "ShareUpdateKey" => one::<super::ShareUpdateKey>(bytes, version),
        "ShareUpdateValue" => one::<super::ShareUpdateValue>(bytes, version),
        "SnapshotFooterRecord" => one::<super::SnapshotFooterRecord>(bytes, version),
        "SnapshotHeaderRecord" => one::<super::SnapshotHeaderRecord>(bytes, version),
        "StreamsGroupCurrentMemberAssignmentKey" => {
            one::<super::StreamsGroupCurrentMemberAssignmentKey>(bytes, version)
        }
        "StreamsGroupCurrentMemberAssignmentValue" => {
            one::<super::StreamsGroupCurrentMemberAssignmentValue>(bytes, version)
        }
        "StreamsGroupDescribeRequest" => one::<super::StreamsGroupDescribeRequest>(bytes, version),
        "StreamsGroupDescribeResponse" => {
            one::<super::StreamsGroupDescribeResponse>(bytes, version)
        }
        "StreamsGroupHeartbeatRequest" => {
            one::<super::StreamsGroupHeartbeatRequest>(bytes, version)
        }
        "StreamsGroupHeartbeatResponse" => {
            one::<super::StreamsGroupHeartbeatResponse>(bytes, version)
        }
        "StreamsGroupMemberMetadataKey" => {
            one::<super::StreamsGroupMemberMetadataKey>(bytes, version)
        }
        "StreamsGroupMemberMetadataValue" => {
            one::<super::StreamsGroupMemberMetadataValue>(bytes, version)
        }
        "StreamsGroupMetadataKey" => one::<super::StreamsGroupMetadataKey>(bytes, version),
        "StreamsGroupMetadataValue" => one::<super::StreamsGroupMetadataValue>(bytes, version),
        "StreamsGroupTargetAssignmentMemberKey" => {
            one::<super::StreamsGroupTargetAssignmentMemberKey>(bytes, version)
        }
        "StreamsGroupTargetAssignmentMemberValue" => {
            one::<super::StreamsGroupTargetAssignmentMemberValue>(bytes, version)
        }
        "StreamsGroupTargetAssignmentMetadataKey" => {
            one::<super::StreamsGroupTargetAssignmentMetadataKey>(bytes, version)
        }
        "StreamsGroupTargetAssignmentMetadataValue" => {
            one::<super::StreamsGroupTargetAssignmentMetadataValue>(bytes, version)
        }
        "StreamsGroupTopologyKey" => one::<super::StreamsGroupTopologyKey>(bytes, version),
        "StreamsGroupTopologyValue" => one::<super::StreamsGroupTopologyValue>(bytes, version),
        "SyncGroupRequest" => one::<super::SyncGroupRequest>(bytes, version),
        "SyncGroupResponse" => one::<super::SyncGroupResponse>(bytes, version),
        "TopicRecord" => one::<super::TopicRecord>(bytes, version),
        "TransactionLogKey" => one::<super::TransactionLogKey>(bytes, version),
        "TransactionLogValue" => one::<super::TransactionLogValue>(bytes, version),
        "TxnOffsetCommitRequest" => one::<super::TxnOffsetCommitRequest>(bytes, version),
        "TxnOffsetCommitResponse" => one::<super::TxnOffsetCommitResponse>(bytes, version),
        "UnfenceBrokerRecord" => one::<super::UnfenceBrokerRecord>(bytes, version),
        "UnregisterBrokerRecord" => one::<super::UnregisterBrokerRecord>(bytes, version),
        "UnregisterBrokerRequest" => one::<super::UnregisterBrokerRequest>(bytes, version),
        "UnregisterBrokerResponse" => one::<super::UnregisterBrokerResponse>(bytes, version),
        "UpdateFeaturesRequest" => one::<super::UpdateFeaturesRequest>(bytes, version),
        "UpdateFeaturesResponse" => one::<super::UpdateFeaturesResponse>(bytes, version),
        "UpdateRaftVoterRequest" => one::<super::UpdateRaftVoterRequest>(bytes, version),
        "UpdateRaftVoterResponse" => one::<super::UpdateRaftVoterResponse>(bytes, version),
        "UserScramCredentialRecord" => one::<super::UserScramCredentialRecord>(bytes, version),
        "VoteRequest" => one::<super::VoteRequest>(bytes, version),
        "VoteResponse" => one::<super::VoteResponse>(bytes, version),
        "VotersRecord" => one::<super::VotersRecord>(bytes, version),
        "WriteShareGroupStateRequest" => one::<super::WriteShareGroupStateRequest>(bytes, version),
        "WriteShareGroupStateResponse" => {
            one::<super::WriteShareGroupStateResponse>(bytes, version)
        }
        "WriteTxnMarkersRequest" => one::<super::WriteTxnMarkersRequest>(bytes, version),
        "WriteTxnMarkersResponse" => one::<super::WriteTxnMarkersResponse>(bytes, version),
        "ZkMigrationStateRecord" => one::<super::ZkMigrationStateRecord>(bytes, version),
        _ => return None,
    })
}

/// A message written, or why it cannot be.
pub type Written = Result<Vec<u8>, EncodeError>;

fn again<M: Message>(bytes: Option<&Bytes>, from: i16, to: i16) -> Decoded<Written> {
    let m = match bytes {
        Some(bytes) => M::decode(&mut Reader::shared(bytes), from)?,
        None => M::default(),
    };
    let mut w = Writer::new();
    Ok(m.encode(&mut w, to).map(|()| w.to_vec()))
}

/// Reads `bytes` as the named message in version `from`, or takes its default where there are none, and writes it in version `to`.
pub fn transcode(
    name: &str,
    bytes: Option<&Bytes>,
    from: i16,
    to: i16,
) -> Option<Decoded<Written>> {
    Some(match name {
        "AbortTransactionRecord" => again::<super::AbortTransactionRecord>(bytes, from, to),
        "AccessControlEntryRecord" => again::<super::AccessControlEntryRecord>(bytes, from, to),
        "AddOffsetsToTxnRequest" => again::<super::AddOffsetsToTxnRequest>(bytes, from, to),
        "AddOffsetsToTxnResponse" => again::<super::AddOffsetsToTxnResponse>(bytes, from, to),
        "AddPartitionsToTxnRequest" => again::<super::AddPartitionsToTxnRequest>(bytes, from, to),
        "AddPartitionsToTxnResponse" => again::<super::AddPartitionsToTxnResponse>(bytes, from, to),
        "AddRaftVoterRequest" => again::<super::AddRaftVoterRequest>(bytes, from, to),
        "AddRaftVoterResponse" => again::<super::AddRaftVoterResponse>(bytes, from, to),
        "AllocateProducerIdsRequest" => again::<super::AllocateProducerIdsRequest>(bytes, from, to),
        "AllocateProducerIdsResponse" => {
            again::<super::AllocateProducerIdsResponse>(bytes, from, to)
        }
        "AlterClientQuotasRequest" => again::<super::AlterClientQuotasRequest>(bytes, from, to),
        "AlterClientQuotasResponse" => again::<super::AlterClientQuotasResponse>(bytes, from, to),
        "AlterConfigsRequest" => again::<super::AlterConfigsRequest>(bytes, from, to),
        "AlterConfigsResponse" => again::<super::AlterConfigsResponse>(bytes, from, to),
        "AlterPartitionReassignmentsRequest" => {
            again::<super::AlterPartitionReassignmentsRequest>(bytes, from, to)
        }
        "AlterPartitionReassignmentsResponse" => {
            again::<super::AlterPartitionReassignmentsResponse>(bytes, from, to)
        }
        "AlterPartitionRequest" => again::<super::AlterPartitionRequest>(bytes, from, to),
        "AlterPartitionResponse" => again::<super::AlterPartitionResponse>(bytes, from, to),
        "AlterReplicaLogDirsRequest" => again::<super::AlterReplicaLogDirsRequest>(bytes, from, to),
        "AlterReplicaLogDirsResponse" => {
            again::<super::AlterReplicaLogDirsResponse>(bytes, from, to)
        }
        "AlterShareGroupOffsetsRequest" => {
            again::<super::AlterShareGroupOffsetsRequest>(bytes, from, to)
        }
        "AlterShareGroupOffsetsResponse" => {
            again::<super::AlterShareGroupOffsetsResponse>(bytes, from, to)
        }
        "AlterUserScramCredentialsRequest" => {
            again::<super::AlterUserScramCredentialsRequest>(bytes, from, to)
        }
        "AlterUserScramCredentialsResponse" => {
            again::<super::AlterUserScramCredentialsResponse>(bytes, from, to)
        }
        "ApiVersionsRequest" => again::<super::ApiVersionsRequest>(bytes, from, to),
        "ApiVersionsResponse" => again::<super::ApiVersionsResponse>(bytes, from, to),
        "AssignReplicasToDirsRequest" => {
            again::<super::AssignReplicasToDirsRequest>(bytes, from, to)
        }
        "AssignReplicasToDirsResponse" => {
            again::<super::AssignReplicasToDirsResponse>(bytes, from, to)
        }
        "BeginQuorumEpochRequest" => again::<super::BeginQuorumEpochRequest>(bytes, from, to),
        "BeginQuorumEpochResponse" => again::<super::BeginQuorumEpochResponse>(bytes, from, to),
        "BeginTransactionRecord" => again::<super::BeginTransactionRecord>(bytes, from, to),
        "BrokerHeartbeatRequest" => again::<super::BrokerHeartbeatRequest>(bytes, from, to),
        "BrokerHeartbeatResponse" => again::<super::BrokerHeartbeatResponse>(bytes, from, to),
        "BrokerRegistrationChangeRecord" => {
            again::<super::BrokerRegistrationChangeRecord>(bytes, from, to)
        }
        "BrokerRegistrationRequest" => again::<super::BrokerRegistrationRequest>(bytes, from, to),
        "BrokerRegistrationResponse" => again::<super::BrokerRegistrationResponse>(bytes, from, to),
        "ClearElrRecord" => again::<super::ClearElrRecord>(bytes, from, to),
        "ClientQuotaRecord" => again::<super::ClientQuotaRecord>(bytes, from, to),
        "ConfigRecord" => again::<super::ConfigRecord>(bytes, from, to),
        "ConsumerGroupCurrentMemberAssignmentKey" => {
            again::<super::ConsumerGroupCurrentMemberAssignmentKey>(bytes, from, to)
        }
        "ConsumerGroupCurrentMemberAssignmentValue" => {
            again::<super::ConsumerGroupCurrentMemberAssignmentValue>(bytes, from, to)
        }
        "ConsumerGroupDescribeRequest" => {
            again::<super::ConsumerGroupDescribeRequest>(bytes, from, to)
        }
        "ConsumerGroupDescribeResponse" => {
            again::<super::ConsumerGroupDescribeResponse>(bytes, from, to)
        }
        "ConsumerGroupHeartbeatRequest" => {
            again::<super::ConsumerGroupHeartbeatRequest>(bytes, from, to)
        }
        "ConsumerGroupHeartbeatResponse" => {
            again::<super::ConsumerGroupHeartbeatResponse>(bytes, from, to)
        }
        "ConsumerGroupMemberMetadataKey" => {
            again::<super::ConsumerGroupMemberMetadataKey>(bytes, from, to)
        }
        "ConsumerGroupMemberMetadataValue" => {
            again::<super::ConsumerGroupMemberMetadataValue>(bytes, from, to)
        }
        "ConsumerGroupMetadataKey" => again::<super::ConsumerGroupMetadataKey>(bytes, from, to),
        "ConsumerGroupMetadataValue" => again::<super::ConsumerGroupMetadataValue>(bytes, from, to),
        "ConsumerGroupPartitionMetadataKey" => {
            again::<super::ConsumerGroupPartitionMetadataKey>(bytes, from, to)
        }
        "ConsumerGroupPartitionMetadataValue" => {
            again::<super::ConsumerGroupPartitionMetadataValue>(bytes, from, to)
        }
        "ConsumerGroupRegularExpressionKey" => {
            again::<super::ConsumerGroupRegularExpressionKey>(bytes, from, to)
        }
        "ConsumerGroupRegularExpressionValue" => {
            again::<super::ConsumerGroupRegularExpressionValue>(bytes, from, to)
        }
        "ConsumerGroupTargetAssignmentMemberKey" => {
            again::<super::ConsumerGroupTargetAssignmentMemberKey>(bytes, from, to)
        }
        "ConsumerGroupTargetAssignmentMemberValue" => {
            again::<super::ConsumerGroupTargetAssignmentMemberValue>(bytes, from, to)
        }
        "ConsumerGroupTargetAssignmentMetadataKey" => {
            again::<super::ConsumerGroupTargetAssignmentMetadataKey>(bytes, from, to)
        }
        "ConsumerGroupTargetAssignmentMetadataValue" => {
            again::<super::ConsumerGroupTargetAssignmentMetadataValue>(bytes, from, to)
        }
        "ConsumerProtocolAssignment" => again::<super::ConsumerProtocolAssignment>(bytes, from, to),
        "ConsumerProtocolSubscription" => {
            again::<super::ConsumerProtocolSubscription>(bytes, from, to)
        }
        "ControlRecordTypeSchema" => again::<super::ControlRecordTypeSchema>(bytes, from, to),
        "ControllerRegistrationRequest" => {
            again::<super::ControllerRegistrationRequest>(bytes, from, to)
        }
        "ControllerRegistrationResponse" => {
            again::<super::ControllerRegistrationResponse>(bytes, from, to)
        }
        "CreateAclsRequest" => again::<super::CreateAclsRequest>(bytes, from, to),
        "CreateAclsResponse" => again::<super::CreateAclsResponse>(bytes, from, to),
        "CreateDelegationTokenRequest" => {
            again::<super::CreateDelegationTokenRequest>(bytes, from, to)
        }
        "CreateDelegationTokenResponse" => {
            again::<super::CreateDelegationTokenResponse>(bytes, from, to)
        }
        "CreatePartitionsRequest" => again::<super::CreatePartitionsRequest>(bytes, from, to),
        "CreatePartitionsResponse" => again::<super::CreatePartitionsResponse>(bytes, from, to),
        "CreateTopicsRequest" => again::<super::CreateTopicsRequest>(bytes, from, to),
        "CreateTopicsResponse" => again::<super::CreateTopicsResponse>(bytes, from, to),
        "DefaultPrincipalData" => again::<super::DefaultPrincipalData>(bytes, from, to),
        "DelegationTokenRecord" => again::<super::DelegationTokenRecord>(bytes, from, to),
        "DeleteAclsRequest" => again::<super::DeleteAclsRequest>(bytes, from, to),
        "DeleteAclsResponse" => again::<super::DeleteAclsResponse>(bytes, from, to),
        "DeleteGroupsRequest" => again::<super::DeleteGroupsRequest>(bytes, from, to),
        "DeleteGroupsResponse" => again::<super::DeleteGroupsResponse>(bytes, from, to),
        "DeleteRecordsRequest" => again::<super::DeleteRecordsRequest>(bytes, from, to),
        "DeleteRecordsResponse" => again::<super::DeleteRecordsResponse>(bytes, from, to),
        "DeleteShareGroupOffsetsRequest" => {
            again::<super::DeleteShareGroupOffsetsRequest>(bytes, from, to)
        }
        "DeleteShareGroupOffsetsResponse" => {
            again::<super::DeleteShareGroupOffsetsResponse>(bytes, from, to)
        }
        "DeleteShareGroupStateRequest" => {
            again::<super::DeleteShareGroupStateRequest>(bytes, from, to)
        }
        "DeleteShareGroupStateResponse" => {
            again::<super::DeleteShareGroupStateResponse>(bytes, from, to)
        }
        "DeleteTopicsRequest" => again::<super::DeleteTopicsRequest>(bytes, from, to),
        "DeleteTopicsResponse" => again::<super::DeleteTopicsResponse>(bytes, from, to),
        "DescribeAclsRequest" => again::<super::DescribeAclsRequest>(bytes, from, to),
        "DescribeAclsResponse" => again::<super::DescribeAclsResponse>(bytes, from, to),
        "DescribeClientQuotasRequest" => {
            again::<super::DescribeClientQuotasRequest>(bytes, from, to)
        }
        "DescribeClientQuotasResponse" => {
            again::<super::DescribeClientQuotasResponse>(bytes, from, to)
        }
        "DescribeClusterRequest" => again::<super::DescribeClusterRequest>(bytes, from, to),
        "DescribeClusterResponse" => again::<super::DescribeClusterResponse>(bytes, from, to),
        "DescribeConfigsRequest" => again::<super::DescribeConfigsRequest>(bytes, from, to),
        "DescribeConfigsResponse" => again::<super::DescribeConfigsResponse>(bytes, from, to),
        "DescribeDelegationTokenRequest" => {
            again::<super::DescribeDelegationTokenRequest>(bytes, from, to)
        }
        "DescribeDelegationTokenResponse" => {
            again::<super::DescribeDelegationTokenResponse>(bytes, from, to)
        }
        "DescribeGroupsRequest" => again::<super::DescribeGroupsRequest>(bytes, from, to),
        "DescribeGroupsResponse" => again::<super::DescribeGroupsResponse>(bytes, from, to),
        "DescribeLogDirsRequest" => again::<super::DescribeLogDirsRequest>(bytes, from, to),
        "DescribeLogDirsResponse" => again::<super::DescribeLogDirsResponse>(bytes, from, to),
        "DescribeProducersRequest" => again::<super::DescribeProducersRequest>(bytes, from, to),
        "DescribeProducersResponse" => again::<super::DescribeProducersResponse>(bytes, from, to),
        "DescribeQuorumRequest" => again::<super::DescribeQuorumRequest>(bytes, from, to),
        "DescribeQuorumResponse" => again::<super::DescribeQuorumResponse>(bytes, from, to),
        "DescribeShareGroupOffsetsRequest" => {
            again::<super::DescribeShareGroupOffsetsRequest>(bytes, from, to)
        }
        "DescribeShareGroupOffsetsResponse" => {
            again::<super::DescribeShareGroupOffsetsResponse>(bytes, from, to)
        }
        "DescribeTopicPartitionsRequest" => {
            again::<super::DescribeTopicPartitionsRequest>(bytes, from, to)
        }
        "DescribeTopicPartitionsResponse" => {
            again::<super::DescribeTopicPartitionsResponse>(bytes, from, to)
        }
        "DescribeTransactionsRequest" => {
            again::<super::DescribeTransactionsRequest>(bytes, from, to)
        }
        "DescribeTransactionsResponse" => {
            again::<super::DescribeTransactionsResponse>(bytes, from, to)
        }
        "DescribeUserScramCredentialsRequest" => {
            again::<super::DescribeUserScramCredentialsRequest>(bytes, from, to)
        }
        "DescribeUserScramCredentialsResponse" => {
            again::<super::DescribeUserScramCredentialsResponse>(bytes, from, to)
        }
        "ElectLeadersRequest" => again::<super::ElectLeadersRequest>(bytes, from, to),
        "ElectLeadersResponse" => again::<super::ElectLeadersResponse>(bytes, from, to),
        "EndQuorumEpochRequest" => again::<super::EndQuorumEpochRequest>(bytes, from, to),
        "EndQuorumEpochResponse" => again::<super::EndQuorumEpochResponse>(bytes, from, to),
        "EndTransactionRecord" => again::<super::EndTransactionRecord>(bytes, from, to),
        "EndTxnMarker" => again::<super::EndTxnMarker>(bytes, from, to),
        "EndTxnRequest" => again::<super::EndTxnRequest>(bytes, from, to),
        "EndTxnResponse" => again::<super::EndTxnResponse>(bytes, from, to),
        "EnvelopeRequest" => again::<super::EnvelopeRequest>(bytes, from, to),
        "EnvelopeResponse" => again::<super::EnvelopeResponse>(bytes, from, to),
        "ExpireDelegationTokenRequest" => {
            again::<super::ExpireDelegationTokenRequest>(bytes, from, to)
        }
        "ExpireDelegationTokenResponse" => {
            again::<super::ExpireDelegationTokenResponse>(bytes, from, to)
        }
        "FeatureLevelRecord" => again::<super::FeatureLevelRecord>(bytes, from, to),
        "FenceBrokerRecord" => again::<super::FenceBrokerRecord>(bytes, from, to),
        "FetchRequest" => again::<super::FetchRequest>(bytes, from, to),
        "FetchResponse" => again::<super::FetchResponse>(bytes, from, to),
        "FetchSnapshotRequest" => again::<super::FetchSnapshotRequest>(bytes, from, to),
        "FetchSnapshotResponse" => again::<super::FetchSnapshotResponse>(bytes, from, to),
        "FindCoordinatorRequest" => again::<super::FindCoordinatorRequest>(bytes, from, to),
        "FindCoordinatorResponse" => again::<super::FindCoordinatorResponse>(bytes, from, to),
        "GetTelemetrySubscriptionsRequest" => {
            again::<super::GetTelemetrySubscriptionsRequest>(bytes, from, to)
        }
        "GetTelemetrySubscriptionsResponse" => {
            again::<super::GetTelemetrySubscriptionsResponse>(bytes, from, to)
        }
        "GroupMetadataKey" => again::<super::GroupMetadataKey>(bytes, from, to),
        "GroupMetadataValue" => again::<super::GroupMetadataValue>(bytes, from, to),
        "HeartbeatRequest" => again::<super::HeartbeatRequest>(bytes, from, to),
        "HeartbeatResponse" => again::<super::HeartbeatResponse>(bytes, from, to),
        "IncrementalAlterConfigsRequest" => {
            again::<super::IncrementalAlterConfigsRequest>(bytes, from, to)
        }
        "IncrementalAlterConfigsResponse" => {
            again::<super::IncrementalAlterConfigsResponse>(bytes, from, to)
        }
        "InitProducerIdRequest" => again::<super::InitProducerIdRequest>(bytes, from, to),
        "InitProducerIdResponse" => again::<super::InitProducerIdResponse>(bytes, from, to),
        "InitializeShareGroupStateRequest" => {
            again::<super::InitializeShareGroupStateRequest>(bytes, from, to)
        }
        "InitializeShareGroupStateResponse" => {
            again::<super::InitializeShareGroupStateResponse>(bytes, from, to)
        }
        "JoinGroupRequest" => again::<super::JoinGroupRequest>(bytes, from, to),
        "JoinGroupResponse" => again::<super::JoinGroupResponse>(bytes, from, to),
        "KRaftVersionRecord" => again::<super::KRaftVersionRecord>(bytes, from, to),
        "LeaderChangeMessage" => again::<super::LeaderChangeMessage>(bytes, from, to),
        "LeaveGroupRequest" => again::<super::LeaveGroupRequest>(bytes, from, to),
        "LeaveGroupResponse" => again::<super::LeaveGroupResponse>(bytes, from, to),
        "LegacyOffsetCommitKey" => again::<super::LegacyOffsetCommitKey>(bytes, from, to),
        "LegacyOffsetCommitValue" => again::<super::LegacyOffsetCommitValue>(bytes, from, to),
        "ListConfigResourcesRequest" => again::<super::ListConfigResourcesRequest>(bytes, from, to),
        "ListConfigResourcesResponse" => {
            again::<super::ListConfigResourcesResponse>(bytes, from, to)
        }
        "ListGroupsRequest" => again::<super::ListGroupsRequest>(bytes, from, to),
        "ListGroupsResponse" => again::<super::ListGroupsResponse>(bytes, from, to),
        "ListOffsetsRequest" => again::<super::ListOffsetsRequest>(bytes, from, to),
        "ListOffsetsResponse" => again::<super::ListOffsetsResponse>(bytes, from, to),
        "ListPartitionReassignmentsRequest" => {
            again::<super::ListPartitionReassignmentsRequest>(bytes, from, to)
        }
        "ListPartitionReassignmentsResponse" => {
            again::<super::ListPartitionReassignmentsResponse>(bytes, from, to)
        }
        "ListTransactionsRequest" => again::<super::ListTransactionsRequest>(bytes, from, to),
        "ListTransactionsResponse" => again::<super::ListTransactionsResponse>(bytes, from, to),
        "MetadataRequest" => again::<super::MetadataRequest>(bytes, from, to),
        "MetadataResponse" => again::<super::MetadataResponse>(bytes, from, to),
        "NoOpRecord" => again::<super::NoOpRecord>(bytes, from, to),
        "OffsetCommitKey" => again::<super::OffsetCommitKey>(bytes, from, to),
        "OffsetCommitRequest" => again::<super::OffsetCommitRequest>(bytes, from, to),
        "OffsetCommitResponse" => again::<super::OffsetCommitResponse>(bytes, from, to),
        "OffsetCommitValue" => again::<super::OffsetCommitValue>(bytes, from, to),
        "OffsetDeleteRequest" => again::<super::OffsetDeleteRequest>(bytes, from, to),
        "OffsetDeleteResponse" => again::<super::OffsetDeleteResponse>(bytes, from, to),
        "OffsetFetchRequest" => again::<super::OffsetFetchRequest>(bytes, from, to),
        "OffsetFetchResponse" => again::<super::OffsetFetchResponse>(bytes, from, to),
        "OffsetForLeaderEpochRequest" => {
            again::<super::OffsetForLeaderEpochRequest>(bytes, from, to)
        }
        "OffsetForLeaderEpochResponse" => {
            again::<super::OffsetForLeaderEpochResponse>(bytes, from, to)
        }
        "PartitionChangeRecord" => again::<super::PartitionChangeRecord>(bytes, from, to),
        "PartitionRecord" => again::<super::PartitionRecord>(bytes, from, to),
        "ProduceRequest" => again::<super::ProduceRequest>(bytes, from, to),
        "ProduceResponse" => again::<super::ProduceResponse>(bytes, from, to),
        "ProducerIdsRecord" => again::<super::ProducerIdsRecord>(bytes, from, to),
        "ProducerSnapshot" => again::<super::ProducerSnapshot>(bytes, from, to),
        "PushTelemetryRequest" => again::<super::PushTelemetryRequest>(bytes, from, to),
        "PushTelemetryResponse" => again::<super::PushTelemetryResponse>(bytes, from, to),
        "QuorumStateData" => again::<super::QuorumStateData>(bytes, from, to),
        "ReadShareGroupStateRequest" => again::<super::ReadShareGroupStateRequest>(bytes, from, to),
        "ReadShareGroupStateResponse" => {
            again::<super::ReadShareGroupStateResponse>(bytes, from, to)
        }
        "ReadShareGroupStateSummaryRequest" => {
            again::<super::ReadShareGroupStateSummaryRequest>(bytes, from, to)
        }
        "ReadShareGroupStateSummaryResponse" => {
            again::<super::ReadShareGroupStateSummaryResponse>(bytes, from, to)
        }
        "RegisterBrokerRecord" => again::<super::RegisterBrokerRecord>(bytes, from, to),
        "RegisterControllerRecord" => again::<super::RegisterControllerRecord>(bytes, from, to),
        "RemoteLogSegmentMetadataRecord" => {
            again::<super::RemoteLogSegmentMetadataRecord>(bytes, from, to)
        }
        "RemoteLogSegmentMetadataSnapshotRecord" => {
            again::<super::RemoteLogSegmentMetadataSnapshotRecord>(bytes, from, to)
        }
        "RemoteLogSegmentMetadataUpdateRecord" => {
            again::<super::RemoteLogSegmentMetadataUpdateRecord>(bytes, from, to)
        }
        "RemotePartitionDeleteMetadataRecord" => {
            again::<super::RemotePartitionDeleteMetadataRecord>(bytes, from, to)
        }
        "RemoveAccessControlEntryRecord" => {
            again::<super::RemoveAccessControlEntryRecord>(bytes, from, to)
        }
        "RemoveDelegationTokenRecord" => {
            again::<super::RemoveDelegationTokenRecord>(bytes, from, to)
        }
        "RemoveRaftVoterRequest" => again::<super::RemoveRaftVoterRequest>(bytes, from, to),
        "RemoveRaftVoterResponse" => again::<super::RemoveRaftVoterResponse>(bytes, from, to),
        "RemoveTopicRecord" => again::<super::RemoveTopicRecord>(bytes, from, to),
        "RemoveUserScramCredentialRecord" => {
            again::<super::RemoveUserScramCredentialRecord>(bytes, from, to)
        }
        "RenewDelegationTokenRequest" => {
            again::<super::RenewDelegationTokenRequest>(bytes, from, to)
        }
        "RenewDelegationTokenResponse" => {
            again::<super::RenewDelegationTokenResponse>(bytes, from, to)
        }
        "RequestHeader" => again::<super::RequestHeader>(bytes, from, to),
        "ResponseHeader" => again::<super::ResponseHeader>(bytes, from, to),
        "SaslAuthenticateRequest" => again::<super::SaslAuthenticateRequest>(bytes, from, to),
        "SaslAuthenticateResponse" => again::<super::SaslAuthenticateResponse>(bytes, from, to),
        "SaslHandshakeRequest" => again::<super::SaslHandshakeRequest>(bytes, from, to),
        "SaslHandshakeResponse" => again::<super::SaslHandshakeResponse>(bytes, from, to),
        "ShareAcknowledgeRequest" => again::<super::ShareAcknowledgeRequest>(bytes, from, to),
        "ShareAcknowledgeResponse" => again::<super::ShareAcknowledgeResponse>(bytes, from, to),
        "ShareFetchRequest" => again::<super::ShareFetchRequest>(bytes, from, to),
        "ShareFetchResponse" => again::<super::ShareFetchResponse>(bytes, from, to),
        "ShareGroupCurrentMemberAssignmentKey" => {
            again::<super::ShareGroupCurrentMemberAssignmentKey>(bytes, from, to)
        }
        "ShareGroupCurrentMemberAssignmentValue" => {
            again::<super::ShareGroupCurrentMemberAssignmentValue>(bytes, from, to)
        }
        "ShareGroupDescribeRequest" => again::<super::ShareGroupDescribeRequest>(bytes, from, to),
        "ShareGroupDescribeResponse" => again::<super::ShareGroupDescribeResponse>(bytes, from, to),
        "ShareGroupHeartbeatRequest" => again::<super::ShareGroupHeartbeatRequest>(bytes, from, to),
        "ShareGroupHeartbeatResponse" => {
            again::<super::ShareGroupHeartbeatResponse>(bytes, from, to)
        }
        "ShareGroupMemberMetadataKey" => {
            again::<super::ShareGroupMemberMetadataKey>(bytes, from, to)
        }
        "ShareGroupMemberMetadataValue" => {
            again::<super::ShareGroupMemberMetadataValue>(bytes, from, to)
        }
        "ShareGroupMetadataKey" => again::<super::ShareGroupMetadataKey>(bytes, from, to),
        "ShareGroupMetadataValue" => again::<super::ShareGroupMetadataValue>(bytes, from, to),
        "ShareGroupStatePartitionMetadataKey" => {
            again::<super::ShareGroupStatePartitionMetadataKey>(bytes, from, to)
        }
        "ShareGroupStatePartitionMetadataValue" => {
            again::<super::ShareGroupStatePartitionMetadataValue>(bytes, from, to)
        }
        "ShareGroupTargetAssignmentMemberKey" => {
            again::<super::ShareGroupTargetAssignmentMemberKey>(bytes, from, to)
        }
        "ShareGroupTargetAssignmentMemberValue" => {
            again::<super::ShareGroupTargetAssignmentMemberValue>(bytes, from, to)
        }
        "ShareGroupTargetAssignmentMetadataKey" => {
            again::<super::ShareGroupTargetAssignmentMetadataKey>(bytes, from, to)
        }
        "ShareGroupTargetAssignmentMetadataValue" => {
            again::<super::ShareGroupTargetAssignmentMetadataValue>(bytes, from, to)
        }
        "ShareSnapshotKey" => again::<super::ShareSnapshotKey>(bytes, from, to),
        "ShareSnapshotValue" => again::<super::ShareSnapshotValue>(bytes, from, to),
        "ShareUpdateKey" => again::<super::ShareUpdateKey>(bytes, from, to),
        "ShareUpdateValue" => again::<super::ShareUpdateValue>(bytes, from, to),
        "SnapshotFooterRecord" => again::<super::SnapshotFooterRecord>(bytes, from, to),
        "SnapshotHeaderRecord" => again::<super::SnapshotHeaderRecord>(bytes, from, to),
        "StreamsGroupCurrentMemberAssignmentKey" => {
            again::<super::StreamsGroupCurrentMemberAssignmentKey>(bytes, from, to)
        }
        "StreamsGroupCurrentMemberAssignmentValue" => {
            again::<super::StreamsGroupCurrentMemberAssignmentValue>(bytes, from, to)
        }
        "StreamsGroupDescribeRequest" => {
            again::<super::StreamsGroupDescribeRequest>(bytes, from, to)
        }
        "StreamsGroupDescribeResponse" => {
            again::<super::StreamsGroupDescribeResponse>(bytes, from, to)
        }
        "StreamsGroupHeartbeatRequest" => {
            again::<super::StreamsGroupHeartbeatRequest>(bytes, from, to)
        }
        "StreamsGroupHeartbeatResponse" => {
            again::<super::StreamsGroupHeartbeatResponse>(bytes, from, to)
        }
        "StreamsGroupMemberMetadataKey" => {
            again::<super::StreamsGroupMemberMetadataKey>(bytes, from, to)
        }
        "StreamsGroupMemberMetadataValue" => {
            again::<super::StreamsGroupMemberMetadataValue>(bytes, from, to)
        }
        "StreamsGroupMetadataKey" => again::<super::StreamsGroupMetadataKey>(bytes, from, to),
        "StreamsGroupMetadataValue" => again::<super::StreamsGroupMetadataValue>(bytes, from, to),
        "StreamsGroupTargetAssignmentMemberKey" => {
            again::<super::StreamsGroupTargetAssignmentMemberKey>(bytes, from, to)
        }
        "StreamsGroupTargetAssignmentMemberValue" => {
            again::<super::StreamsGroupTargetAssignmentMemberValue>(bytes, from, to)
        }
        "StreamsGroupTargetAssignmentMetadataKey" => {
            again::<super::StreamsGroupTargetAssignmentMetadataKey>(bytes, from, to)
        }
        "StreamsGroupTargetAssignmentMetadataValue" => {
            again::<super::StreamsGroupTargetAssignmentMetadataValue>(bytes, from, to)
        }
        "StreamsGroupTopologyKey" => again::<super::StreamsGroupTopologyKey>(bytes, from, to),
        "StreamsGroupTopologyValue" => again::<super::StreamsGroupTopologyValue>(bytes, from, to),
        "SyncGroupRequest" => again::<super::SyncGroupRequest>(bytes, from, to),
        "SyncGroupResponse" => again::<super::SyncGroupResponse>(bytes, from, to),
        "TopicRecord" => again::<super::TopicRecord>(bytes, from, to),
        "TransactionLogKey" => again::<super::TransactionLogKey>(bytes, from, to),
        "TransactionLogValue" => again::<super::TransactionLogValue>(bytes, from, to),
        "TxnOffsetCommitRequest" => again::<super::TxnOffsetCommitRequest>(bytes, from, to),
        "TxnOffsetCommitResponse" => again::<super::TxnOffsetCommitResponse>(bytes, from, to),
        "UnfenceBrokerRecord" => again::<super::UnfenceBrokerRecord>(bytes, from, to),
        "UnregisterBrokerRecord" => again::<super::UnregisterBrokerRecord>(bytes, from, to),
        "UnregisterBrokerRequest" => again::<super::UnregisterBrokerRequest>(bytes, from, to),
        "UnregisterBrokerResponse" => again::<super::UnregisterBrokerResponse>(bytes, from, to),
        "UpdateFeaturesRequest" => again::<super::UpdateFeaturesRequest>(bytes, from, to),
        "UpdateFeaturesResponse" => again::<super::UpdateFeaturesResponse>(bytes, from, to),
        "UpdateRaftVoterRequest" => again::<super::UpdateRaftVoterRequest>(bytes, from, to),
        "UpdateRaftVoterResponse" => again::<super::UpdateRaftVoterResponse>(bytes, from, to),
        "UserScramCredentialRecord" => again::<super::UserScramCredentialRecord>(bytes, from, to),
        "VoteRequest" => again::<super::VoteRequest>(bytes, from, to),
        "VoteResponse" => again::<super::VoteResponse>(bytes, from, to),
        "VotersRecord" => again::<super::VotersRecord>(bytes, from, to),
        "WriteShareGroupStateRequest" => {
            again::<super::WriteShareGroupStateRequest>(bytes, from, to)
        }
        "WriteShareGroupStateResponse" => {
            again::<super::WriteShareGroupStateResponse>(bytes, from, to)
        }
        "WriteTxnMarkersRequest" => again::<super::WriteTxnMarkersRequest>(bytes, from, to),
        "WriteTxnMarkersResponse" => again::<super::WriteTxnMarkersResponse>(bytes, from, to),
        "ZkMigrationStateRecord" => again::<super::ZkMigrationStateRecord>(bytes, from, to),
        _ => return None,
    })
}

/// Every message with its versions.
pub const MESSAGES: &[(&str, i16, i16)] = &[
    ("AbortTransactionRecord", 0, 0),
    ("AccessControlEntryRecord", 0, 0),
    ("AddOffsetsToTxnRequest", 0, 4),
    ("AddOffsetsToTxnResponse", 0, 4),
    ("AddPartitionsToTxnRequest", 0, 5),
    ("AddPartitionsToTxnResponse", 0, 5),
    ("AddRaftVoterRequest", 0, 1),
    ("AddRaftVoterResponse", 0, 1),
    ("AllocateProducerIdsRequest", 0, 0),
    ("AllocateProducerIdsResponse", 0, 0),
    ("AlterClientQuotasRequest", 0, 1),
    ("AlterClientQuotasResponse", 0, 1),
    ("AlterConfigsRequest", 0, 2),
    ("AlterConfigsResponse", 0, 2),
    ("AlterPartitionReassignmentsRequest", 0, 1),
    ("AlterPartitionReassignmentsResponse", 0, 1),
    ("AlterPartitionRequest", 2, 3),
    ("AlterPartitionResponse", 2, 3),
    ("AlterReplicaLogDirsRequest", 1, 2),
    ("AlterReplicaLogDirsResponse", 1, 2),
    ("AlterShareGroupOffsetsRequest", 0, 0),
    ("AlterShareGroupOffsetsResponse", 0, 0),
    ("AlterUserScramCredentialsRequest", 0, 0),
    ("AlterUserScramCredentialsResponse", 0, 0),
    ("ApiVersionsRequest", 0, 4),
    ("ApiVersionsResponse", 0, 4),
    ("AssignReplicasToDirsRequest", 0, 0),
    ("AssignReplicasToDirsResponse", 0, 0),
    ("BeginQuorumEpochRequest", 0, 1),
    ("BeginQuorumEpochResponse", 0, 1),
    ("BeginTransactionRecord", 0, 0),
    ("BrokerHeartbeatRequest", 0, 2),
    ("BrokerHeartbeatResponse", 0, 2),
    ("BrokerRegistrationChangeRecord", 0, 3),
    ("BrokerRegistrationRequest", 0, 4),
    ("BrokerRegistrationResponse", 0, 4),
    ("ClearElrRecord", 0, 0),
    ("ClientQuotaRecord", 0, 0),
    ("ConfigRecord", 0, 0),
    ("ConsumerGroupCurrentMemberAssignmentKey", 0, 0),
    ("ConsumerGroupCurrentMemberAssignmentValue", 0, 0),
    ("ConsumerGroupDescribeRequest", 0, 1),
    ("ConsumerGroupDescribeResponse", 0, 1),
    ("ConsumerGroupHeartbeatRequest", 0, 1),
    ("ConsumerGroupHeartbeatResponse", 0, 1),
    ("ConsumerGroupMemberMetadataKey", 0, 0),
    ("ConsumerGroupMemberMetadataValue", 0, 0),
    ("ConsumerGroupMetadataKey", 0, 0),
    ("ConsumerGroupMetadataValue", 0, 0),
    ("ConsumerGroupPartitionMetadataKey", 0, 0),
    ("ConsumerGroupPartitionMetadataValue", 0, 0),
    ("ConsumerGroupRegularExpressionKey", 0, 0),
    ("ConsumerGroupRegularExpressionValue", 0, 0),
    ("ConsumerGroupTargetAssignmentMemberKey", 0, 0),
    ("ConsumerGroupTargetAssignmentMemberValue", 0, 0),
    ("ConsumerGroupTargetAssignmentMetadataKey", 0, 0),
    ("ConsumerGroupTargetAssignmentMetadataValue", 0, 0),
    ("ConsumerProtocolAssignment", 0, 3),
    ("ConsumerProtocolSubscription", 0, 3),
    ("ControlRecordTypeSchema", 0, 0),
    ("ControllerRegistrationRequest", 0, 0),
    ("ControllerRegistrationResponse", 0, 0),
    ("CreateAclsRequest", 1, 3),
    ("CreateAclsResponse", 1, 3),
    ("CreateDelegationTokenRequest", 1, 3),
    ("CreateDelegationTokenResponse", 1, 3),
    ("CreatePartitionsRequest", 0, 3),
    ("CreatePartitionsResponse", 0, 3),
    ("CreateTopicsRequest", 2, 7),
    ("CreateTopicsResponse", 2, 7),
    ("DefaultPrincipalData", 0, 0),
    ("DelegationTokenRecord", 0, 0),
    ("DeleteAclsRequest", 1, 3),
    ("DeleteAclsResponse", 1, 3),
    ("DeleteGroupsRequest", 0, 2),
    ("DeleteGroupsResponse", 0, 2),
    ("DeleteRecordsRequest", 0, 2),
    ("DeleteRecordsResponse", 0, 2),
    ("DeleteShareGroupOffsetsRequest", 0, 0),
    ("DeleteShareGroupOffsetsResponse", 0, 0),
    ("DeleteShareGroupStateRequest", 0, 0),
    ("DeleteShareGroupStateResponse", 0, 0),
    ("DeleteTopicsRequest", 1, 6),
    ("DeleteTopicsResponse", 1, 6),
    ("DescribeAclsRequest", 1, 3),
    ("DescribeAclsResponse", 1, 3),
    ("DescribeClientQuotasRequest", 0, 1),
    ("DescribeClientQuotasResponse", 0, 1),
    ("DescribeClusterRequest", 0, 2),
    ("DescribeClusterResponse", 0, 2),
    ("DescribeConfigsRequest", 1, 4),
    ("DescribeConfigsResponse", 1, 4),
    ("DescribeDelegationTokenRequest", 1, 3),
    ("DescribeDelegationTokenResponse", 1, 3),
    ("DescribeGroupsRequest", 0, 6),
    ("DescribeGroupsResponse", 0, 6),
    ("DescribeLogDirsRequest", 1, 5),
    ("DescribeLogDirsResponse", 1, 5),
    ("DescribeProducersRequest", 0, 0),
    ("DescribeProducersResponse", 0, 0),
    ("DescribeQuorumRequest", 0, 2),
    ("DescribeQuorumResponse", 0, 2),
    ("DescribeShareGroupOffsetsRequest", 0, 1),
    ("DescribeShareGroupOffsetsResponse", 0, 1),
    ("DescribeTopicPartitionsRequest", 0, 0),
    ("DescribeTopicPartitionsResponse", 0, 0),
    ("DescribeTransactionsRequest", 0, 0),
    ("DescribeTransactionsResponse", 0, 0),
    ("DescribeUserScramCredentialsRequest", 0, 0),
    ("DescribeUserScramCredentialsResponse", 0, 0),
    ("ElectLeadersRequest", 0, 2),
    ("ElectLeadersResponse", 0, 2),
    ("EndQuorumEpochRequest", 0, 1),
    ("EndQuorumEpochResponse", 0, 1),
    ("EndTransactionRecord", 0, 0),
    ("EndTxnMarker", 0, 0),
    ("EndTxnRequest", 0, 5),
    ("EndTxnResponse", 0, 5),
    ("EnvelopeRequest", 0, 0),
    ("EnvelopeResponse", 0, 0),
    ("ExpireDelegationTokenRequest", 1, 2),
    ("ExpireDelegationTokenResponse", 1, 2),
    ("FeatureLevelRecord", 0, 0),
    ("FenceBrokerRecord", 0, 0),
    ("FetchRequest", 4, 18),
    ("FetchResponse", 4, 18),
    ("FetchSnapshotRequest", 0, 1),
    ("FetchSnapshotResponse", 0, 1),
    ("FindCoordinatorRequest", 0, 6),
    ("FindCoordinatorResponse", 0, 6),
    ("GetTelemetrySubscriptionsRequest", 0, 0),
    ("GetTelemetrySubscriptionsResponse", 0, 0),
    ("GroupMetadataKey", 0, 0),
    ("GroupMetadataValue", 0, 4),
    ("HeartbeatRequest", 0, 4),
    ("HeartbeatResponse", 0, 4),
    ("IncrementalAlterConfigsRequest", 0, 1),
    ("IncrementalAlterConfigsResponse", 0, 1),
    ("InitProducerIdRequest", 0, 6),
    ("InitProducerIdResponse", 0, 6),
    ("InitializeShareGroupStateRequest", 0, 0),
    ("InitializeShareGroupStateResponse", 0, 0),
    ("JoinGroupRequest", 0, 9),
    ("JoinGroupResponse", 0, 9),
    ("KRaftVersionRecord", 0, 0),
    ("LeaderChangeMessage", 0, 1),
    ("LeaveGroupRequest", 0, 5),
    ("LeaveGroupResponse", 0, 5),
    ("LegacyOffsetCommitKey", 0, 0),
    ("LegacyOffsetCommitValue", 0, 0),
    ("ListConfigResourcesRequest", 0, 1),
    ("ListConfigResourcesResponse", 0, 1),
    ("ListGroupsRequest", 0, 5),
    ("ListGroupsResponse", 0, 5),
    ("ListOffsetsRequest", 1, 11),
    ("ListOffsetsResponse", 1, 11),
    ("ListPartitionReassignmentsRequest", 0, 0),
    ("ListPartitionReassignmentsResponse", 0, 0),
    ("ListTransactionsRequest", 0, 2),
    ("ListTransactionsResponse", 0, 2),
    ("MetadataRequest", 0, 13),
    ("MetadataResponse", 0, 13),
    ("NoOpRecord", 0, 0),
    ("OffsetCommitKey", 0, 0),
    ("OffsetCommitRequest", 2, 10),
    ("OffsetCommitResponse", 2, 10),
    ("OffsetCommitValue", 0, 4),
    ("OffsetDeleteRequest", 0, 0),
    ("OffsetDeleteResponse", 0, 0),
    ("OffsetFetchRequest", 1, 10),
    ("OffsetFetchResponse", 1, 10),
    ("OffsetForLeaderEpochRequest", 2, 4),
    ("OffsetForLeaderEpochResponse", 2, 4),
    ("PartitionChangeRecord", 0, 2),
    ("PartitionRecord", 0, 2),
    ("ProduceRequest", 3, 13),
    ("ProduceResponse", 3, 13),
    ("ProducerIdsRecord", 0, 0),
    ("ProducerSnapshot", 1, 1),
    ("PushTelemetryRequest", 0, 0),
    ("PushTelemetryResponse", 0, 0),
    ("QuorumStateData", 0, 1),
    ("ReadShareGroupStateRequest", 0, 0),
    ("ReadShareGroupStateResponse", 0, 0),
    ("ReadShareGroupStateSummaryRequest", 0, 1),
    ("ReadShareGroupStateSummaryResponse", 0, 1),
    ("RegisterBrokerRecord", 0, 4),
    ("RegisterControllerRecord", 0, 0),
    ("RemoteLogSegmentMetadataRecord", 0, 0),
    ("RemoteLogSegmentMetadataSnapshotRecord", 0, 0),
    ("RemoteLogSegmentMetadataUpdateRecord", 0, 0),
    ("RemotePartitionDeleteMetadataRecord", 0, 0),
    ("RemoveAccessControlEntryRecord", 0, 0),
    ("RemoveDelegationTokenRecord", 0, 0),
    ("RemoveRaftVoterRequest", 0, 0),
    ("RemoveRaftVoterResponse", 0, 0),
    ("RemoveTopicRecord", 0, 0),
    ("RemoveUserScramCredentialRecord", 0, 0),
    ("RenewDelegationTokenRequest", 1, 2),
    ("RenewDelegationTokenResponse", 1, 2),
    ("RequestHeader", 1, 2),
    ("ResponseHeader", 0, 1),
    ("SaslAuthenticateRequest", 0, 2),
    ("SaslAuthenticateResponse", 0, 2),
    ("SaslHandshakeRequest", 0, 1),
    ("SaslHandshakeResponse", 0, 1),
    ("ShareAcknowledgeRequest", 1, 2),
    ("ShareAcknowledgeResponse", 1, 2),
    ("ShareFetchRequest", 1, 2),
    ("ShareFetchResponse", 1, 2),
    ("ShareGroupCurrentMemberAssignmentKey", 0, 0),
    ("ShareGroupCurrentMemberAssignmentValue", 0, 0),
    ("ShareGroupDescribeRequest", 1, 1),
    ("ShareGroupDescribeResponse", 1, 1),
    ("ShareGroupHeartbeatRequest", 1, 1),
    ("ShareGroupHeartbeatResponse", 1, 1),
    ("ShareGroupMemberMetadataKey", 0, 0),
    ("ShareGroupMemberMetadataValue", 0, 0),
    ("ShareGroupMetadataKey", 0, 0),
    ("ShareGroupMetadataValue", 0, 0),
    ("ShareGroupStatePartitionMetadataKey", 0, 0),
    ("ShareGroupStatePartitionMetadataValue", 0, 0),
    ("ShareGroupTargetAssignmentMemberKey", 0, 0),
    ("ShareGroupTargetAssignmentMemberValue", 0, 0),
    ("ShareGroupTargetAssignmentMetadataKey", 0, 0),
    ("ShareGroupTargetAssignmentMetadataValue", 0, 0),
    ("ShareSnapshotKey", 0, 0),
    ("ShareSnapshotValue", 0, 0),
    ("ShareUpdateKey", 0, 0),
    ("ShareUpdateValue", 0, 0),
    ("SnapshotFooterRecord", 0, 0),
    ("SnapshotHeaderRecord", 0, 0),
    ("StreamsGroupCurrentMemberAssignmentKey", 0, 0),
    ("StreamsGroupCurrentMemberAssignmentValue", 0, 0),
    ("StreamsGroupDescribeRequest", 0, 0),
    ("StreamsGroupDescribeResponse", 0, 0),
    ("StreamsGroupHeartbeatRequest", 0, 0),
    ("StreamsGroupHeartbeatResponse", 0, 0),
    ("StreamsGroupMemberMetadataKey", 0, 0),
    ("StreamsGroupMemberMetadataValue", 0, 0),
    ("StreamsGroupMetadataKey", 0, 0),
    ("StreamsGroupMetadataValue", 0, 0),
    ("StreamsGroupTargetAssignmentMemberKey", 0, 0),
    ("StreamsGroupTargetAssignmentMemberValue", 0, 0),
    ("StreamsGroupTargetAssignmentMetadataKey", 0, 0),
    ("StreamsGroupTargetAssignmentMetadataValue", 0, 0),
    ("StreamsGroupTopologyKey", 0, 0),
    ("StreamsGroupTopologyValue", 0, 0),
    ("SyncGroupRequest", 0, 5),
    ("SyncGroupResponse", 0, 5),
    ("TopicRecord", 0, 0),
    ("TransactionLogKey", 0, 0),
    ("TransactionLogValue", 0, 1),
    ("TxnOffsetCommitRequest", 0, 5),
    ("TxnOffsetCommitResponse", 0, 5),
    ("UnfenceBrokerRecord", 0, 0),
    ("UnregisterBrokerRecord", 0, 0),
    ("UnregisterBrokerRequest", 0, 0),
    ("UnregisterBrokerResponse", 0, 0),
    ("UpdateFeaturesRequest", 0, 2),
    ("UpdateFeaturesResponse", 0, 2),
    ("UpdateRaftVoterRequest", 0, 0),
    ("UpdateRaftVoterResponse", 0, 0),
    ("UserScramCredentialRecord", 0, 0),
    ("VoteRequest", 0, 2),
    ("VoteResponse", 0, 2),
    ("VotersRecord", 0, 0),
    ("WriteShareGroupStateRequest", 0, 1),
    ("WriteShareGroupStateResponse", 0, 1),
    ("WriteTxnMarkersRequest", 1, 2),
    ("WriteTxnMarkersResponse", 1, 2),
    ("ZkMigrationStateRecord", 0, 0),
];

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.0;

/// No single deposit is large enough: the sum decides.
contract Deposits {
    uint256 private constant LIMIT = 500_000;
    uint256 private total;

    function deposit() external payable {
        require(msg.value <= LIMIT, "too much at once");
        total += msg.value;
    }

    /// fails in 3
    function echidna_sum_is_not_special() external view returns (bool) {
        return total != 1_000_003;
    }

    /// fails in 2
    function echidna_sum_is_small() external view returns (bool) {
        return total <= LIMIT;
    }

    /// holds
    function echidna_balance_is_sum() external view returns (bool) {
        return address(this).balance >= total;
    }
}
